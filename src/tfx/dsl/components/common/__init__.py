# SPDX-License-Identifier: Apache-2.0
"""Steps that bring in artifacts from outside the run."""
