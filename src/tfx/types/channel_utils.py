# SPDX-License-Identifier: Apache-2.0
"""Channels and what is in them."""

from stoker.dsl.channel import ExternalPipelineChannel, as_channel, union
from stoker.stand_ins.tfx.artifacts import get_individual_channels, unwrap_channel_dict

external_pipeline_artifact_query = ExternalPipelineChannel
