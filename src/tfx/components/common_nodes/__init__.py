# SPDX-License-Identifier: Apache-2.0
"""Importer and Resolver, under their oldest paths."""
