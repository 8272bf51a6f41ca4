# SPDX-License-Identifier: Apache-2.0
"""How a Resolver chooses, and values that are given when a pipeline runs."""

from stoker.stand_ins.tfx.missing import missing
from stoker.components.resolver import (
    LatestArtifactStrategy,
    LatestBlessedModelStrategy,
    ResolverStrategy,
    SpanRangeStrategy,
)
from stoker.dsl import RuntimeParameter

__getattr__ = missing(__name__)
