# SPDX-License-Identifier: Apache-2.0
"""Resolver under its older name."""

from stoker.components.resolver import ResolverNode
