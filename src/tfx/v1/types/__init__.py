# SPDX-License-Identifier: Apache-2.0
"""Artifacts and the types of what pipelines are made of."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.artifacts import Artifact
from stoker.dsl import BaseComponent, Channel, Node as BaseNode
from stoker.dsl import BaseComponent as BaseBeamComponent
from stoker.dsl.function_component import (
    FunctionComponent as BaseFunctionalComponent,
    FunctionComponent as BaseFunctionalComponentFactory,
)
from stoker.dsl import Channel as BaseChannel
from stoker.dsl import Channel as OutputChannel
from tfx.v1.types import standard_artifacts

__getattr__ = find_part(__name__)
