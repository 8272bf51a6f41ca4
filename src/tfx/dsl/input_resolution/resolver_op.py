# SPDX-License-Identifier: Apache-2.0
"""The operators of such functions."""

from stoker.dsl.resolution import (
    DataType,
    DictNode,
    InputNode,
    OpNode,
    Property,
    ResolverOp,
)
from stoker.dsl.resolution import ChoiceNode as Node
