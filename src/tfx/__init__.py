# SPDX-License-Identifier: Apache-2.0
"""TFX's import paths, answered by Stoker: re-exports only."""

from stoker.stand_ins.tfx.missing import find_part
import stoker.stand_ins.provide  # pipelines name what an installed TFMA lacks
import absl.logging  # pipelines that say only `import absl` count on it
from tfx.version import __version__

__getattr__ = find_part(__name__)
