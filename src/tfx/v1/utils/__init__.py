# SPDX-License-Identifier: Apache-2.0
"""Small tools that pipelines and module files use."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.any_python.io_utils import parse_pbtxt_file
from stoker.stand_ins.tfx.json_text import JsonableType

__getattr__ = find_part(__name__)
