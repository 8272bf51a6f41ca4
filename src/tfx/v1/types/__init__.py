# SPDX-License-Identifier: Apache-2.0
"""Artifacts and the types of what pipelines are made of."""

from stoker.artifacts import Artifact
from stoker.dsl import Channel, Node as BaseNode
from stoker.dsl import Channel as BaseChannel
from stoker.dsl import Channel as OutputChannel
from tfx.v1.types import standard_artifacts
