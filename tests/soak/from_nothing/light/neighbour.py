# SPDX-License-Identifier: Apache-2.0
"""Imported by the module at its top."""

NEIGHBOUR = 0
