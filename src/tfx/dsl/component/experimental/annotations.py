# SPDX-License-Identifier: Apache-2.0
"""The annotations of such a function."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl import BeamComponentParameter, InputArtifact, OutputArtifact, OutputDict, Parameter

__getattr__ = find_part(__name__)
