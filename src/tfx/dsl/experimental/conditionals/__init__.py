# SPDX-License-Identifier: Apache-2.0
"""Steps that run only if a condition holds."""
