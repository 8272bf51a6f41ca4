# SPDX-License-Identifier: Apache-2.0
"""Steps written as functions."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl import (
    BeamComponentParameter,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    component,
)

__getattr__ = find_part(__name__)
