# SPDX-License-Identifier: Apache-2.0
"""Resolver under its oldest name."""

from stoker.components.resolver import ResolverNode
