# SPDX-License-Identifier: Apache-2.0
"""What runs a pipeline, and where it keeps its records."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.runner import LocalDagRunner
from tfx.v1.orchestration import metadata

__getattr__ = find_part(__name__)
