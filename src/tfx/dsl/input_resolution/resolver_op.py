# SPDX-License-Identifier: Apache-2.0
"""The operators of such functions."""

from stoker.dsl.resolution import (
    DataType,
    DictNode,
    InputNode,
    Node,
    OpNode,
    Property,
    ResolverOp,
)
