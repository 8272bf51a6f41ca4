# SPDX-License-Identifier: Apache-2.0
"""Values out of what executors are given."""

from stoker.stand_ins.tfx.executor_tools import (
    FunctionHasArg,
    GetSoleValue,
    GetValues,
)
