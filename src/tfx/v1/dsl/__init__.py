# SPDX-License-Identifier: Apache-2.0
"""What a pipeline is made of."""

from stoker.artifacts import Artifact
from stoker.stand_ins.tfx.missing import missing
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.dsl import Channel, Cond, Pipeline, RuntimeParameter, union
from tfx.v1.dsl import components, experimental, io, placeholders

__getattr__ = missing(__name__)
