# SPDX-License-Identifier: Apache-2.0
"""What a pipeline is made of."""

from stoker.artifacts import Artifact
from stoker.stand_ins.tfx.missing import find_part
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.dsl import Channel, Cond, Pipeline, RuntimeParameter, union
from stoker.stand_ins.tfx.pipeline_options import ExecutionMode
from tfx.v1.dsl import components, experimental, io, placeholders, standard_annotations

__getattr__ = find_part(__name__)
