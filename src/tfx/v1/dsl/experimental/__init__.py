# SPDX-License-Identifier: Apache-2.0
"""How a Resolver chooses, values that are given when a pipeline runs, steps in containers."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components.resolver import (
    LatestArtifactStrategy,
    LatestBlessedModelStrategy,
    ResolverStrategy,
    SpanRangeStrategy,
)
from stoker.components.container import (
    ConcatPlaceholder,
    InputUriPlaceholder,
    InputValuePlaceholder,
    OutputUriPlaceholder,
    create_container_component,
)
from stoker.dsl import RuntimeParameter

__getattr__ = find_part(__name__)
