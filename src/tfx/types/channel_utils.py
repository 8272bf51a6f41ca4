# SPDX-License-Identifier: Apache-2.0
"""Channels and what is in them."""

from stoker.compat.channel_utils import *
