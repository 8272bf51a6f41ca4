# SPDX-License-Identifier: Apache-2.0
"""Channels that a function chooses from."""

from stoker.dsl.resolution import ResolvedChannel
