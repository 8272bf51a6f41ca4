# SPDX-License-Identifier: Apache-2.0
"""How a component names its executor."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components.container import ExecutorContainerSpec
from stoker.dsl import BeamExecutorSpec, ExecutorClassSpec, ExecutorSpec

__getattr__ = find_part(__name__)
