# SPDX-License-Identifier: Apache-2.0
"""What a SavedModel says about itself, read from its file: nothing is loaded."""

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from stoker.errors import ModelRejected

SERVING_DEFAULT = "serving_default"

Scope = Mapping[str, Any]
"""The nodes of a graph, or of one function, by name."""

_WRITING = {"MergeV2Checkpoints", "Save", "SaveSlices", "SaveV2", "WriteFile"}
_CHANGING = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")
_NOT_FOR_CALLERS = {"__saved_model_init_op", "__saved_model_train_op"}
_NUM_NAMED = 6


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
    side_effect: str = ""
    """What else it does than to answer: "writes files" or "changes variables"."""

    @property
    def takes_examples(self) -> bool:
        """Whether its only input is serialized tf.Examples."""
        if self.parses is None or len(self.inputs) != 1:
            return False
        (only,) = self.inputs.values()
        return only.dtype == "string" and (only.shape is None or len(only.shape) <= 1)

    @property
    def feature_names(self) -> list[str]:
        """The features of tf.Examples that it reads."""
        return sorted((self.parses if self.takes_examples else self.inputs) or ())

    def to_dict(self) -> dict[str, Any]:
        """Names, types and shapes as plain JSON."""
        return {
            key: {name: {"dtype": t.dtype, "shape": t.shape} for name, t in tensors.items()}
            for key, tensors in (("inputs", self.inputs), ("outputs", self.outputs))
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaGraph:
    """One graph of a SavedModel: what it is for, and how it may be called."""

    tags: frozenset[str]
    signatures: Mapping[str, Signature]

    @property
    def default_signature(self) -> str | None:
        """The name of what is called where no signature is named: serving_default, or the only."""
        if SERVING_DEFAULT in self.signatures:
            return SERVING_DEFAULT
        return next(iter(self.signatures)) if len(self.signatures) == 1 else None


def choose_graph(graphs: Sequence[MetaGraph], tag: str) -> MetaGraph:
    """The graph with the tag and the fewest others, such as `gpu`; else the first."""
    tagged = [graph for graph in graphs if tag in graph.tags]
    return min(tagged or graphs[:1], key=lambda graph: len(graph.tags))


def read_graphs(folder: str) -> list[MetaGraph]:
    """Every graph of the SavedModel in a folder."""
    return [
        MetaGraph(
            tags=frozenset(graph.meta_info_def.tags),
            signatures={
                name: _signature(signature, graph.graph_def)
                for name, signature in sorted(graph.signature_def.items())
                if name not in _NOT_FOR_CALLERS
            },
        )
        for graph in _read(folder).meta_graphs
    ]


def has_saved_model(folder: str) -> bool:
    """Whether the file of a SavedModel is in a folder."""
    names = ("saved_model.pb", "saved_model.pbtxt")
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def list_files(folder: str) -> str:
    """What is in a folder, briefly."""
    if not os.path.isdir(folder):
        return "it is no folder"
    names = sorted(os.listdir(folder))
    more = ", …" if len(names) > _NUM_NAMED else ""
    return f"it has {', '.join(names[:_NUM_NAMED])}{more}" if names else "it is empty"


def read_message(folder: str, tags: Collection[str]) -> Any:
    """The MetaGraphDef with these tags of the SavedModel in a folder."""
    graphs = _read(folder).meta_graphs
    return next(graph for graph in graphs if set(graph.meta_info_def.tags) == set(tags))


def _read(folder: str) -> Any:
    message = saved_model_pb2.SavedModel()
    path = os.path.join(folder, "saved_model.pb")
    if not has_saved_model(folder):
        raise ModelRejected(
            f"There is no SavedModel in {folder}: {list_files(folder)}. Save the model there with "
            "tf.saved_model.save or model.export."
        )
    try:
        if os.path.exists(path):
            with open(path, "rb") as file:
                message.ParseFromString(file.read())
        else:
            path += "txt"
            with open(path, encoding="utf-8") as text:
                text_format.Parse(text.read(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise _refuse_file(path, str(error)) from error
    if not message.meta_graphs:
        raise _refuse_file(path, "it holds no graph")
    return message


def _refuse_file(path: str, why: str) -> ModelRejected:
    return ModelRejected(
        f"{path} is not a SavedModel: {why}. Nothing may write to fn_args.serving_model_dir after "
        "the model is saved; if this file is meant to be so, give Trainer(check=False)."
    )


def _signature(signature: Any, graph: Any) -> Signature:
    nodes = list(find_nodes_behind(graph, signature.outputs.values()))
    return Signature(
        inputs={name: _tensor(info) for name, info in sorted(signature.inputs.items())},
        outputs={name: _tensor(info) for name, info in sorted(signature.outputs.items())},
        parses=_find_parsed_features(nodes),
        method=signature.method_name,
        side_effect=_find_side_effect(node.op for node, _ in nodes),
    )


def _find_side_effect(ops: Iterable[str]) -> str:
    found = set(ops)
    if found & _WRITING:
        return "writes files"
    changes = any(op.startswith(_CHANGING) for op in found)
    return "changes variables" if changes else ""


def _tensor(info: Any) -> TensorInfo:
    shape = info.tensor_shape
    return TensorInfo(
        dtype=tf.dtypes.as_dtype(info.dtype).name if info.dtype else "composite",
        shape=None if shape.unknown_rank else [int(dim.size) for dim in shape.dim],
    )


def _find_parsed_features(
    nodes: Iterable[tuple[Any, Scope]],
) -> dict[str, ParsedFeature] | None:
    """What the ops behind a signature's outputs parse; None if none of them parses examples."""
    found: dict[str, ParsedFeature] | None = None
    for node, scope in nodes:
        if parser := read_parser(node, scope):
            found = (found or {}) | parser.features
    return found


def find_nodes_behind(graph: Any, outputs: Iterable[Any]) -> Iterator[tuple[Any, Scope]]:
    """Every node that the outputs depend on, in functions too, each with the nodes around it."""
    functions = {function.signature.name: function for function in graph.library.function}
    main = {node.name: node for node in graph.node}
    waiting: list[tuple[Collection[Any], Scope]] = [(_find_upstream(main, outputs), main)]
    seen: set[str] = set()
    while waiting:
        nodes, scope = waiting.pop()
        for node in nodes:
            yield node, scope
            for name in _list_calls(node) & functions.keys() - seen:
                seen.add(name)
                body = {inner.name: inner for inner in functions[name].node_def}
                waiting.append((body.values(), body))


def _find_upstream(scope: Scope, outputs: Iterable[Any]) -> list[Any]:
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
            return [part.name for part in info.composite_tensor.components]
    return [info.name]


def _node_name(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _list_calls(node: Any) -> set[str]:
    """The functions that a node calls."""
    values = node.attr.values()
    return {value.func.name for value in values if value.HasField("func")} | {
        function.name for value in values for function in value.list.func
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """A node that parses tf.Examples, and its features by name."""

    sparse: Mapping[str, ParsedFeature]
    dense: Mapping[str, ParsedFeature]
    ragged: Mapping[str, ParsedFeature]

    @property
    def features(self) -> dict[str, ParsedFeature]:
        """All of them."""
        return {**self.sparse, **self.ragged, **self.dense}

    @property
    def outputs(self) -> list[str]:
        """The feature that each output of the node is about."""
        return [*[*self.sparse] * 3, *self.dense, *[*self.ragged] * 2]


def read_parser(node: Any, scope: Scope) -> Parser | None:
    """What a node parses, if it is one of TensorFlow's three parsers of tf.Examples."""
    attr, ragged = node.attr, list[str]()
    match node.op:
        case "ParseExampleV2":
            sparse, dense, ragged = (_read_strings(scope, name) for name in node.input[2:5])
            defaults = node.input[5:]
        case "ParseExample":
            num_sparse = attr["Nsparse"].i
            end = 2 + num_sparse + attr["Ndense"].i
            names = [one for key in node.input[2:end] for one in _read_strings(scope, key)]
            sparse, dense, defaults = names[:num_sparse], names[num_sparse:], node.input[end:]
        case "ParseSingleExample":
            sparse = [key.decode() for key in attr["sparse_keys"].list.s]
            dense = [key.decode() for key in attr["dense_keys"].list.s]
            defaults = node.input[1:]
        case _:
            return None
    types, shapes = attr["Tdense"].list.type, attr["dense_shapes"].list.shape
    return Parser(
        sparse=_allow_any_size(sparse, attr["sparse_types"]),
        ragged=_allow_any_size(ragged, attr["ragged_value_types"]),
        dense={
            name: ParsedFeature(
                dtype=tf.dtypes.as_dtype(kind).name,
                size=_size(shape),
                required=_is_empty(read_constant(scope, default)),
            )
            for name, kind, shape, default in zip(dense, types, shapes, defaults, strict=False)
        },
    )


def _allow_any_size(names: Iterable[str], types: Any) -> dict[str, ParsedFeature]:
    return {
        name: ParsedFeature(dtype=tf.dtypes.as_dtype(kind).name, size=None, required=False)
        for name, kind in zip(names, types.list.type, strict=False)
    }


def _size(shape: Any) -> int | None:
    sizes = [dim.size for dim in shape.dim]
    return None if -1 in sizes or shape.unknown_rank else math.prod(sizes)


def _is_empty(default: Any) -> bool:
    """A feature without a default has an empty one in the graph."""
    return default is not None and default.size == 0


def _read_strings(scope: Scope, tensor: str) -> list[str]:
    constant = read_constant(scope, tensor)
    return [] if constant is None else [bytes(value).decode() for value in constant.reshape(-1)]


def read_constant(scope: Scope, tensor: str) -> Any:
    """The value of a constant, as an array; None for what is computed."""
    node = scope.get(_node_name(tensor))
    while node is not None and node.op == "Identity":
        node = scope.get(_node_name(node.input[0]))
    if node is None or node.op != "Const":
        return None
    return tf.make_ndarray(node.attr["value"].tensor)
