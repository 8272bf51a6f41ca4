# SPDX-License-Identifier: Apache-2.0
"""TFX's import paths, answered by Stoker: re-exports only."""

import absl.logging  # pipelines that say only `import absl` count on it
from tfx.version import __version__
