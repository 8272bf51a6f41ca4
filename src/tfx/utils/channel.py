# SPDX-License-Identifier: Apache-2.0
"""Channels, under their oldest path."""

from stoker.dsl import Channel, as_channel
from stoker.stand_ins.tfx.artifacts import unwrap_channel_dict
