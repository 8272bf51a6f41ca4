# SPDX-License-Identifier: Apache-2.0
"""TFX's import paths, answered by Stoker: re-exports only."""

from tfx.version import __version__
