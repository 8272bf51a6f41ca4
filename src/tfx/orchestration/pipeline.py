# SPDX-License-Identifier: Apache-2.0
"""Pipelines."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl import ExecutionMode, Pipeline, PipelineInputs, RuntimeParameter
from stoker.dsl.partial_run import PartialRun as RunOptions
from stoker.dsl.pipeline import PipelineInfo
from stoker.stand_ins.tfx.pipeline_decorator import PipelineDecorator

ROOT_PARAMETER = RuntimeParameter(name="pipeline-root", ptype=str)

__getattr__ = find_part(__name__)
