# SPDX-License-Identifier: Apache-2.0
"""JSON."""

from json import loads

from stoker.stand_ins.tfx.json_text import (
    RUNTIME_PARAMETER_PATTERN,
    Jsonable,
    JsonableType,
    dumps,
)
