# SPDX-License-Identifier: Apache-2.0
"""Notebooks, at an older place."""
