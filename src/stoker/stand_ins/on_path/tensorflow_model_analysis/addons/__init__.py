# SPDX-License-Identifier: Apache-2.0
"""Additions to TFMA."""
