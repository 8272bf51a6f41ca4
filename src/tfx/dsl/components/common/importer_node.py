# SPDX-License-Identifier: Apache-2.0
"""Importer under its older name."""

from stoker.components.importer import ImporterNode
