# SPDX-License-Identifier: Apache-2.0
"""Functions out of module files."""

from stoker.stand_ins.tfx.executor_tools import get_fn, try_get_fn
