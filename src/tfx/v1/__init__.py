# SPDX-License-Identifier: Apache-2.0
"""`from tfx import v1 as tfx`: the names that TFX promises to keep."""

from stoker.stand_ins.tfx.missing import find_part
from tfx.v1 import components, dsl, extensions, orchestration, proto, testing, types, utils
from tfx.version import __version__

__getattr__ = find_part(__name__)
