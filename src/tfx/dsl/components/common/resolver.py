# SPDX-License-Identifier: Apache-2.0
"""Resolver: artifacts of earlier runs."""

from stoker.components.resolver import Resolver, ResolverStrategy
