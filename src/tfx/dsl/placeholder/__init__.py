# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""
