# SPDX-License-Identifier: Apache-2.0
"""TFMA for those who have not installed it, and the names that an installed one lacks."""
