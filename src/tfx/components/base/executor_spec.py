# SPDX-License-Identifier: Apache-2.0
"""How a component names its executor."""

from stoker.stand_ins.tfx.missing import missing
from stoker.dsl import BeamExecutorSpec, ExecutorClassSpec, ExecutorSpec

__getattr__ = missing(__name__)
