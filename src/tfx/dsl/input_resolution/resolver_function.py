# SPDX-License-Identifier: Apache-2.0
"""Functions that choose which artifacts a step reads."""

from stoker.dsl.resolution import ResolvedChannel, ResolverFunction, resolver_function
