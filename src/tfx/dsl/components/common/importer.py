# SPDX-License-Identifier: Apache-2.0
"""Importer: files that no step made."""

from stoker.components.importer import Importer
