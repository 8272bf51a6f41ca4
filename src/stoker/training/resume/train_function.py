# SPDX-License-Identifier: Apache-2.0
"""What the steps of a `fit` change besides the model: seen in the graph of its train function."""

import types
from collections.abc import Iterable, Iterator
from typing import Any

from stoker.training.resume.data_position import draws_random_numbers
from stoker.training.resume.python_state import has_value

_NUM_NAMED = 2


class CapturedVariable:
    """A variable that a graph refers to; the object that it belongs to need not be known."""

    name = "a variable outside of the model"

    def __init__(self, handle: Any, described: Any) -> None:
        import tensorflow as tf

        self._ops = tf.raw_ops
        self.handle = handle
        self.dtype = tf.dtypes.as_dtype(described.dtype)
        self.shape = tf.TensorShape(described.shape)

    def numpy(self) -> Any:
        """Its value."""
        return self._ops.ReadVariableOp(resource=self.handle, dtype=self.dtype).numpy()

    def assign(self, value: Any) -> None:
        """Set its value."""
        import tensorflow as tf

        self._ops.AssignVariableOp(resource=self.handle, value=tf.constant(value, self.dtype))


def find_captured(model: Any, known: Iterable[Any]) -> list[CapturedVariable]:
    """The variables that the steps of a model use and that are not among those known."""
    seen = {id(getattr(one, "handle", None)) for one in known}
    found = []
    for graph in _list_graphs(model):
        for handle, _ in graph.captures:
            described = getattr(handle, "_handle_data", None)
            parts: Any = described.shape_and_type if described is not None else []
            if id(handle) not in seen and handle.dtype.name == "resource" and len(parts) == 1:
                seen.add(id(handle))
                one = CapturedVariable(handle, parts[0])
                if one.dtype.name != "string" and one.shape.is_fully_defined():
                    found.append(one)
    return found


def find_lost_in_steps(model: Any) -> list[str]:
    """What the steps of a model keep where nobody can read it."""
    if getattr(model, "run_eagerly", False):
        return ["what its steps, which run eagerly, keep outside of the model"]
    return find_own_state(*_list_graphs(model))


def find_own_state(*graphs: Any) -> list[str]:
    """What operations of these graphs keep to themselves: no variable holds it."""
    drawn, tables, calls = list[str](), False, False
    for node in (node for graph in graphs for node in _list_nodes(graph.as_graph_def())):
        if draws_random_numbers(node):
            drawn.append(node.name.rpartition("/")[0] or node.name)
        tables = tables or node.op.startswith(("LookupTableInsert", "LookupTableRemove"))
        calls = calls or node.op in ("PyFunc", "PyFuncStateless", "EagerPyFunc")
    names = ", ".join(list(dict.fromkeys(drawn))[:_NUM_NAMED])
    return [
        *([f"the random numbers of tf.random in {names}"] if drawn else []),
        *(["a lookup table that its steps change"] if tables else []),
        *(["what a tf.py_function in its steps keeps"] if calls else []),
    ]


def _list_graphs(model: Any) -> list[Any]:
    return [
        concrete.graph
        for function in _find_tf_functions(model.train_function)
        for concrete in function._list_all_concrete_functions()
    ]


def _find_tf_functions(function: Any) -> list[Any]:
    """The tf.functions that a function is, or calls: Keras 3 puts plain ones around them."""
    waiting, seen, found = [function], set[int](), list[Any]()
    for one in waiting:
        if id(one) in seen:
            continue
        seen.add(id(one))
        if hasattr(one, "_list_all_concrete_functions"):
            found.append(one)
        elif isinstance(one, types.FunctionType):
            waiting += [cell.cell_contents for cell in one.__closure__ or () if has_value(cell)]
    return found


def _list_nodes(graph: Any) -> Iterator[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def
