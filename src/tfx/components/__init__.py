# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components import *
from stoker.components.importer import ImporterNode
from stoker.components.resolver import ResolverNode
from stoker.training.tuning import TunerFnResult
from stoker.user_code.fn_args import DataAccessor, FnArgs

__getattr__ = find_part(__name__)
