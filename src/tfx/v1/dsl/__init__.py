# SPDX-License-Identifier: Apache-2.0
"""What a pipeline is made of."""

from stoker.artifacts import Artifact
from stoker.stand_ins.tfx.missing import find_part
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.components.manual_node import ManualNode
from stoker.dsl import (
    Channel,
    Cond,
    ExecutionMode,
    ForEach,
    Pipeline,
    PipelineInputs,
    RuntimeParameter,
    union,
)
from tfx.v1.dsl import components, experimental, io, placeholders, standard_annotations

__getattr__ = find_part(__name__)
