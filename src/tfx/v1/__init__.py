# SPDX-License-Identifier: Apache-2.0
"""`from tfx import v1 as tfx`: the names that TFX promises to keep."""

from tfx.v1 import components, dsl, extensions, orchestration, proto, testing, types, utils
from tfx.version import __version__
