# SPDX-License-Identifier: Apache-2.0
"""Pipelines."""

from stoker.dsl import Pipeline
from stoker.stand_ins.tfx.missing import find_part
from stoker.stand_ins.tfx.pipeline_options import ExecutionMode

__getattr__ = find_part(__name__)
