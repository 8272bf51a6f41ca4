# SPDX-License-Identifier: Apache-2.0
"""Channels and what is in them."""

from stoker.stand_ins.tfx.channel_utils import *
