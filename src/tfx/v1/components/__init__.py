# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline, and what a module file needs."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components import *
from stoker.training.tuning import TunerFnResult
from stoker.user_code.fn_args import DataAccessor, FnArgs

__getattr__ = find_part(__name__)
