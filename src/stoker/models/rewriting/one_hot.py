# SPDX-License-Identifier: Apache-2.0
"""OneHot in other words, for TFLite in integers.

TFLite gives the 0 and the 1 of a OneHot scales of their own, which its output does not have: there
0 becomes 0.5. A comparison with all positions says the same and is converted as it should be.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from stoker.models.saved_model import read_constant


def spell_out_one_hot(graph: Any) -> None:
    """Replace the OneHot nodes of a GraphDef whose positions come last, and are 0 or 1."""
    nodes = {node.name: node for node in graph.node}
    for node in [one for one in graph.node if one.op == "OneHot"]:
        depth, on, off = (read_constant(nodes, name) for name in node.input[1:4])
        if node.attr["axis"].i == -1 and depth is not None and (on, off) == (1, 0):
            _spell_out(graph, node, depth.item())


def _spell_out(graph: Any, node: Any, depth: int) -> None:
    """The position is neither less nor greater; TFLite would take an Equal for a OneHot again."""
    kind = tf.dtypes.as_dtype(node.attr["TI"].type)
    result = tf.dtypes.as_dtype(node.attr["T"].type)
    at = node.name
    _add_constant(graph, f"{at}/positions", np.arange(depth, dtype=kind.as_numpy_dtype))
    _add_constant(graph, f"{at}/last", np.array(-1, np.int32))
    _add(graph, f"{at}/wide", "ExpandDims", node.input[0], f"{at}/last", T=kind, Tdim=tf.int32)
    for name, op in (("least", "GreaterEqual"), ("most", "LessEqual")):
        _add(graph, f"{at}/{name}", op, f"{at}/wide", f"{at}/positions", T=kind)
    _add(graph, f"{at}/same", "LogicalAnd", f"{at}/least", f"{at}/most")
    graph.node.remove(node)
    _add(graph, at, "Cast", f"{at}/same", SrcT=tf.bool, DstT=result)


def _add(graph: Any, name: str, op: str, *inputs: str, **types: tf.DType) -> None:
    node = graph.node.add(name=name, op=op, input=inputs)
    for key, dtype in types.items():
        node.attr[key].type = dtype.as_datatype_enum


def _add_constant(graph: Any, name: str, value: Any) -> None:
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.dtypes.as_dtype(value.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
