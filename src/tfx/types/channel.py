# SPDX-License-Identifier: Apache-2.0
"""Channels."""

from stoker.dsl import Channel, UnionChannel, union
from stoker.dsl import Channel as BaseChannel
from stoker.dsl import Channel as OutputChannel
from stoker.dsl.channel import ExternalPipelineChannel
from stoker.dsl.placeholders import ArtifactPlaceholder as ChannelWrappedPlaceholder
