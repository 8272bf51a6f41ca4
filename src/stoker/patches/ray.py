# SPDX-License-Identifier: Apache-2.0
"""Ray: one that is started on loopback stays there."""

import contextlib
import importlib

from stoker.patches.changes import replace
from stoker.patches.registry import PATCHES


def stay_on_loopback() -> contextlib.ExitStack:
    """Let Ray listen where it is told to; it takes loopback for a wish to be reached by others."""
    patch = PATCHES["ray-loopback"]
    patch.check_version()
    constants = importlib.import_module("ray._private.ray_constants")
    patch.check_names(constants, "ENABLE_RAY_CLUSTER")
    return replace(constants, "ENABLE_RAY_CLUSTER", False)
