# SPDX-License-Identifier: Apache-2.0
"""Importer under its oldest name."""

from stoker.components.importer import ImporterNode
