# SPDX-License-Identifier: Apache-2.0
"""Channels and what is in them, as `tfx.types.channel_utils` names it."""

from collections.abc import Mapping

from stoker.artifacts import Artifact
from stoker.dsl.channel import Channel, as_channel, union

__all__ = ["as_channel", "get_individual_channels", "union", "unwrap_channel_dict"]


def unwrap_channel_dict(channel_dict: Mapping[str, Channel]) -> dict[str, list[Artifact]]:
    """The artifacts that are in each channel already."""
    return {key: channel.get() for key, channel in channel_dict.items()}


def get_individual_channels(input_channel: Channel) -> list[Channel]:
    """The channels that one is made of: several for a union."""
    return list(input_channel.parts)
