# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity among the variables of a SavedModel, read from its files: nothing is loaded.

One variable is in memory at a time.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import variable_pb2
from tensorflow.core.protobuf import trackable_object_graph_pb2

from stoker.models.saved_model import find_nodes_behind

_PART_SIZE = 1 << 22
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VARIABLE_OPS = {"VarHandleOp", "Variable", "VariableV2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadVariable:
    """A variable with values that are not finite."""

    name: str
    has_nan: bool
    num_bad: int
    num_values: int
    is_served: bool
    """Whether a signature reads it; an optimizer's, or a metric's, none does."""
    is_trained: bool

    @property
    def is_fatal(self) -> bool:
        """Whether no server can make sense of it; in a mask, say, infinity is meant to be there."""
        return self.is_served and (self.has_nan or self.is_trained)

    def __str__(self) -> str:
        what = "NaN" if self.has_nan else "infinity"
        return f"{self.name} ({what} in {self.num_bad:,} of {self.num_values:,} values)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """What a variable is for."""

    name: str
    is_served: bool
    is_trained: bool


def find_bad_variables(folder: str, graph: Any) -> list[BadVariable]:
    """The variables of the SavedModel in a folder that are not finite, by name.

    `graph` is its MetaGraphDef. What TensorFlow raises is what it raises where a model is loaded.
    """
    path = os.path.join(folder, "variables", "variables")
    if not os.path.exists(f"{path}.index"):
        return []
    reader = tf.train.load_checkpoint(path)
    roles = _find_roles(graph, reader)
    found = {}
    for key, dtype in reader.get_variable_to_dtype_map().items():
        if dtype.is_floating or dtype.is_complex:
            role = roles.get(key) or _Role(name=key, is_served=False, is_trained=False)
            if bad := _search(reader.get_tensor(key), role):
                found[role.name] = bad
    return [bad for _, bad in sorted(found.items())]


def _search(values: Any, role: _Role) -> BadVariable | None:
    flat = np.asarray(values).reshape(-1)
    num_bad, has_nan = 0, False
    for start in range(0, flat.size, _PART_SIZE):
        part = flat[start : start + _PART_SIZE]
        bad = part[~np.isfinite(part)]
        num_bad += bad.size
        has_nan = has_nan or bool(np.isnan(bad).any())
    if not num_bad:
        return None
    return BadVariable(
        name=role.name,
        has_nan=has_nan,
        num_bad=num_bad,
        num_values=flat.size,
        is_served=role.is_served,
        is_trained=role.is_trained,
    )


def _find_roles(graph: Any, reader: Any) -> Mapping[str, _Role]:
    """The role of each variable, by its key in the checkpoint."""
    if graph.object_graph_def.nodes and reader.has_tensor(_OBJECTS):
        return dict(_find_roles_of_objects(graph.object_graph_def, reader))
    return dict(_find_roles_in_graph(graph, reader))


def _find_roles_of_objects(objects: Any, reader: Any) -> Iterator[tuple[str, _Role]]:
    """As TensorFlow 2 saves: the objects of model and checkpoint have the same numbers."""
    saved = trackable_object_graph_pb2.TrackableObjectGraph()
    saved.ParseFromString(reader.get_tensor(_OBJECTS))
    served = _find_served(objects)
    for number, (node, kept) in enumerate(zip(objects.nodes, saved.nodes, strict=False)):
        for attribute in kept.attributes:
            yield (
                attribute.checkpoint_key,
                _Role(
                    name=attribute.full_name or attribute.checkpoint_key,
                    is_served=number in served,
                    is_trained=node.variable.trainable,
                ),
            )


def _find_served(objects: Any) -> set[int]:
    """What signatures read; of a model without any, what any of its functions reads."""
    names = _list_signature_functions(objects) or objects.concrete_functions.keys()
    return {number for name in names for number in objects.concrete_functions[name].bound_inputs}


def _list_signature_functions(objects: Any) -> list[str]:
    children = {child.local_name: child.node_id for child in objects.nodes[0].children}
    if "signatures" not in children:
        return []
    nodes = [
        objects.nodes[child.node_id] for child in objects.nodes[children["signatures"]].children
    ]
    return [
        name
        for node in nodes
        for name in (
            node.bare_concrete_function.concrete_function_name,
            *node.function.concrete_functions,
        )
        if name
    ]


def _find_roles_in_graph(graph: Any, reader: Any) -> Iterator[tuple[str, _Role]]:
    """As TensorFlow 1 saves: names, in the graph and in its collections."""
    outputs = [info for one in graph.signature_def.values() for info in one.outputs.values()]
    nodes = [node for node, _ in find_nodes_behind(graph.graph_def, outputs)]
    served = {
        node.attr["shared_name"].s.decode() or node.name
        for node in nodes
        if node.op in _VARIABLE_OPS
    }
    trained = {_read_name(value) for value in _read_collection(graph, "trainable_variables")}
    for key in reader.get_variable_to_shape_map():
        yield (
            key,
            _Role(name=key, is_served=_is_among(key, served), is_trained=_is_among(key, trained)),
        )


def _read_collection(graph: Any, name: str) -> Iterable[bytes]:
    found: Iterable[bytes] = graph.collection_def[name].bytes_list.value
    return found


def _read_name(value: bytes) -> str:
    name: str = variable_pb2.VariableDef.FromString(value).variable_name
    return name.partition(":")[0]


def _is_among(key: str, names: set[str]) -> bool:
    """Whether a variable is one of these, or these are its parts."""
    return key in names or any(name.startswith(f"{key}/part_") for name in names)
