# SPDX-License-Identifier: Apache-2.0
"""Importer, under an older path."""

from stoker.components.importer import Importer
