# SPDX-License-Identifier: Apache-2.0
"""What a SavedModel says about itself: read from its file by the model check, before it loads."""

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from stoker.errors import ModelRejected

__all__ = ["Graph", "ParsedFeature", "Signature", "TensorInfo", "read_graphs"]

_NOT_FOR_CALLERS = {"__saved_model_init_op", "__saved_model_train_op"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorInfo:
    """An input or output of a signature; an unknown rank is a shape of None, a size of -1 any."""

    dtype: str
    shape: list[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFeature:
    """A feature that a signature parses from the tf.Examples that it is given."""

    dtype: str
    size: int | None
    """How many values it must have; None for any number."""
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function of a SavedModel that a server may call."""

    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    parses: Mapping[str, ParsedFeature] | None
    """The features by name, if it parses tf.Examples."""
    method: str = ""
    """What a server does with it, such as "tensorflow/serving/predict"."""

    @property
    def takes_examples(self) -> bool:
        """Whether its only input is serialized tf.Examples."""
        if self.parses is None or len(self.inputs) != 1:
            return False
        (only,) = self.inputs.values()
        return only.dtype == "string" and (only.shape is None or len(only.shape) <= 1)

    def to_dict(self) -> dict[str, Any]:
        """Names, types and shapes as plain JSON."""
        return {
            key: {name: {"dtype": t.dtype, "shape": t.shape} for name, t in tensors.items()}
            for key, tensors in (("inputs", self.inputs), ("outputs", self.outputs))
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """One graph of a SavedModel: what it is for, and how it may be called."""

    tags: frozenset[str]
    signatures: Mapping[str, Signature]


def read_graphs(folder: str) -> list[Graph]:
    """Every graph of the SavedModel in a folder."""
    return [
        Graph(
            tags=frozenset(graph.meta_info_def.tags),
            signatures={
                name: _signature(signature, graph.graph_def)
                for name, signature in sorted(graph.signature_def.items())
                if name not in _NOT_FOR_CALLERS
            },
        )
        for graph in _read(folder).meta_graphs
    ]


def _read(folder: str) -> Any:
    message = saved_model_pb2.SavedModel()
    path = os.path.join(folder, "saved_model.pb")
    try:
        if os.path.exists(path):
            with open(path, "rb") as file:
                message.ParseFromString(file.read())
        else:
            path += "txt"
            with open(path, encoding="utf-8") as text:
                text_format.Parse(text.read(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    if not message.meta_graphs:
        raise _damaged(path, "it holds no graph")
    return message


def _damaged(path: str, why: str) -> ModelRejected:
    return ModelRejected(
        f"{path} is not a SavedModel: {why}. Nothing may write to fn_args.serving_model_dir after "
        "the model is saved; if this file is meant to be so, give Trainer(check=False)."
    )


def _signature(signature: Any, graph: Any) -> Signature:
    return Signature(
        inputs={name: _tensor(info) for name, info in sorted(signature.inputs.items())},
        outputs={name: _tensor(info) for name, info in sorted(signature.outputs.items())},
        parses=_parsed_features(graph, signature.outputs.values()),
        method=signature.method_name,
    )


def _tensor(info: Any) -> TensorInfo:
    shape = info.tensor_shape
    return TensorInfo(
        dtype=tf.dtypes.as_dtype(info.dtype).name if info.dtype else "composite",
        shape=None if shape.unknown_rank else [int(dim.size) for dim in shape.dim],
    )


def _parsed_features(graph: Any, outputs: Iterable[Any]) -> dict[str, ParsedFeature] | None:
    """What the ops behind a signature's outputs parse; None if none of them parses examples."""
    found: dict[str, ParsedFeature] | None = None
    for node, scope in _nodes_behind(graph, outputs):
        if reader := _READERS.get(node.op):
            found = (found or {}) | reader(node, scope)
    return found


def _nodes_behind(graph: Any, outputs: Iterable[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Every node that the outputs depend on, in functions too, each with the nodes around it."""
    functions = {function.signature.name: function for function in graph.library.function}
    main = {node.name: node for node in graph.node}
    waiting: list[tuple[Collection[Any], dict[str, Any]]] = [(_upstream(main, outputs), main)]
    seen: set[str] = set()
    while waiting:
        nodes, scope = waiting.pop()
        for node in nodes:
            yield node, scope
            for name in _called_by(node) & functions.keys() - seen:
                seen.add(name)
                body = {inner.name: inner for inner in functions[name].node_def}
                waiting.append((body.values(), body))


def _upstream(scope: dict[str, Any], outputs: Iterable[Any]) -> list[Any]:
    waiting = [name for info in outputs for name in _tensor_names(info)]
    reached: dict[str, Any] = {}
    while waiting:
        name = _node_name(waiting.pop())
        if name in scope and name not in reached:
            reached[name] = scope[name]
            waiting.extend(scope[name].input)
    return list(reached.values())


def _tensor_names(info: Any) -> list[str]:
    match info.WhichOneof("encoding"):
        case "coo_sparse":
            return [info.coo_sparse.values_tensor_name]
        case "composite_tensor":
            return [name for part in info.composite_tensor.components for name in [part.name]]
    return [info.name]


def _node_name(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _called_by(node: Any) -> set[str]:
    values = node.attr.values()
    return {value.func.name for value in values if value.HasField("func")} | {
        function.name for value in values for function in value.list.func
    }


def _read_v2(node: Any, scope: dict[str, Any]) -> dict[str, ParsedFeature]:
    sparse, dense, ragged = (_strings(scope, name) for name in node.input[2:5])
    return {
        **_of_any_size(sparse, node.attr["sparse_types"]),
        **_of_any_size(ragged, node.attr["ragged_value_types"]),
        **_dense(dense, node, node.input[5 : 5 + len(dense)], scope),
    }


def _read_v1(node: Any, scope: dict[str, Any]) -> dict[str, ParsedFeature]:
    num_sparse, num_dense = node.attr["Nsparse"].i, node.attr["Ndense"].i
    keys = [_strings(scope, name) for name in node.input[2 : 2 + num_sparse + num_dense]]
    flat = [name for names in keys for name in names]
    return {
        **_of_any_size(flat[:num_sparse], node.attr["sparse_types"]),
        **_dense(flat[num_sparse:], node, node.input[2 + len(keys) :], scope),
    }


def _read_single(node: Any, scope: dict[str, Any]) -> dict[str, ParsedFeature]:
    sparse, dense = (
        [key.decode() for key in node.attr[name].list.s] for name in ("sparse_keys", "dense_keys")
    )
    return {
        **_of_any_size(sparse, node.attr["sparse_types"]),
        **_dense(dense, node, node.input[1:], scope),
    }


_READERS = {
    "ParseExampleV2": _read_v2,
    "ParseExample": _read_v1,
    "ParseSingleExample": _read_single,
}


def _of_any_size(names: list[str], types: Any) -> dict[str, ParsedFeature]:
    return {
        name: ParsedFeature(dtype=tf.dtypes.as_dtype(kind).name, size=None, required=False)
        for name, kind in zip(names, types.list.type, strict=False)
    }


def _dense(
    names: list[str], node: Any, defaults: Iterable[str], scope: dict[str, Any]
) -> dict[str, ParsedFeature]:
    types, shapes = node.attr["Tdense"].list.type, node.attr["dense_shapes"].list.shape
    return {
        name: ParsedFeature(
            dtype=tf.dtypes.as_dtype(kind).name,
            size=_size(shape),
            required=_is_empty(_constant(scope, default)),
        )
        for name, kind, shape, default in zip(names, types, shapes, defaults, strict=False)
    }


def _size(shape: Any) -> int | None:
    sizes = [dim.size for dim in shape.dim]
    return None if -1 in sizes or shape.unknown_rank else math.prod(sizes)


def _is_empty(default: Any) -> bool:
    """A feature without a default has an empty one in the graph."""
    return default is not None and default.size == 0


def _strings(scope: dict[str, Any], tensor: str) -> list[str]:
    constant = _constant(scope, tensor)
    return [] if constant is None else [bytes(value).decode() for value in constant.reshape(-1)]


def _constant(scope: dict[str, Any], tensor: str) -> Any:
    """The value of a constant, as an array; None for what is computed."""
    node = scope.get(_node_name(tensor))
    if node is None or node.op != "Const":
        return None
    return tf.make_ndarray(node.attr["value"].tensor)
