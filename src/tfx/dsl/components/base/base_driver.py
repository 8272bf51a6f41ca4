# SPDX-License-Identifier: Apache-2.0
"""Drivers: Stoker has none."""

from stoker.compat.missing import missing_module

raise missing_module(__name__)
