# SPDX-License-Identifier: Apache-2.0
"""Pipelines."""

from stoker.dsl import Pipeline
from stoker.stand_ins.tfx.pipeline_options import ExecutionMode
