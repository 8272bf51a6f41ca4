# SPDX-License-Identifier: Apache-2.0
"""Base types of artifacts and executions."""

from stoker.artifacts import Model
from stoker.stand_ins.tfx.artifacts import Dataset, Metrics, Statistics
from stoker.stand_ins.tfx.pipeline_options import Deploy, Evaluate, Process, Train, Transform
