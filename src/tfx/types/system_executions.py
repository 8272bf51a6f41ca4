# SPDX-License-Identifier: Apache-2.0
"""Base types of executions."""

from stoker.stand_ins.tfx.pipeline_options import Deploy, Evaluate, Process, Train, Transform
