# SPDX-License-Identifier: Apache-2.0
"""A user's preprocessing_fn becomes a graph with analyzers in it: the first thing that happens."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform import analyzer_nodes, impl_helper, nodes, tf2_utils

from stoker.transform.apply import tensor_adapter

PreprocessingFn = Callable[[Any], Any]
"""Raw tensors by name to transformed tensors by name."""

_TENSORS = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)
_LIBRARIES = tuple(
    os.path.join(os.path.dirname(path), "") for path in (tf.__file__, tft.__file__, __file__)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A preprocessing_fn, and the graph that came of calling it."""

    preprocessing_fn: PreprocessingFn
    schema: schema_pb2.Schema
    tmp_dir: str
    compat_v1: bool
    specs: Mapping[str, tf.TypeSpec]
    graph: tf.Graph
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    analyzers: tuple[nodes.ValueNode, ...]
    """The last node of each analyzer."""


def trace(
    preprocessing_fn: PreprocessingFn,
    *,
    schema: schema_pb2.Schema,
    tmp_dir: str,
    force_tf_compat_v1: bool = False,
) -> Traced:
    """Call the function on symbolic tensors of the schema's features.

    What it raises passes through, its traceback beginning at the user's own line.
    """
    specs = tensor_adapter(schema).OriginalTypeSpecs()
    if not specs:
        raise ValueError(
            "The schema has no feature: `feature` is empty. Give Transform the schema of the "
            "examples."
        )
    compat_v1 = tf2_utils.use_tf_compat_v1(force_tf_compat_v1)
    checked = _check_returned(preprocessing_fn, specs)
    os.makedirs(tmp_dir, exist_ok=True)
    try:
        graph, inputs, outputs = impl_helper.trace_preprocessing_function(
            checked, specs, compat_v1, tmp_dir
        )
    except Exception as error:
        raise error.with_traceback(_from_users_line(error.__traceback__)) from error.__cause__
    if variables := graph.get_collection(tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES):
        raise ValueError(
            f"{_where(preprocessing_fn)} makes the variable {variables[0].name!r}, which training "
            "would change. A transformation has to stay as it is: make it a constant, or pass "
            "trainable=False."
        )
    return Traced(
        preprocessing_fn=checked,
        schema=schema,
        tmp_dir=tmp_dir,
        compat_v1=compat_v1,
        specs=specs,
        graph=graph,
        inputs=inputs,
        outputs=outputs,
        analyzers=tuple(
            sink.future for sink in graph.get_collection(analyzer_nodes.TENSOR_REPLACEMENTS)
        ),
    )


def _check_returned(preprocessing_fn: PreprocessingFn, specs: Mapping[str, Any]) -> PreprocessingFn:
    """The function, with errors that say what to do."""

    def call_and_check(inputs: Any) -> Any:
        try:
            outputs = preprocessing_fn(inputs)
        except KeyError as error:
            if error.args and error.args[0] not in specs:
                error.add_note(f"The schema has these features: {', '.join(sorted(specs))}.")
            raise
        _check(outputs, _where(preprocessing_fn))
        return outputs

    return call_and_check


def _check(outputs: Any, where: str) -> None:
    if not isinstance(outputs, dict):
        raise ValueError(f"{where} returned {outputs!r}. Return a dict of tensors by feature name.")
    if not outputs:
        raise ValueError(f"{where} returned an empty dict. Return at least one feature.")
    for name, value in outputs.items():
        if not isinstance(value, _TENSORS):
            raise ValueError(
                f"{where} returned {value!r} for {name!r}, which is not a tensor. Return a "
                "Tensor, a SparseTensor or a RaggedTensor whose first dimension is the batch."
            )


def _where(function: PreprocessingFn) -> str:
    """The name of a function, and its file and line."""
    plain: Any = inspect.unwrap(getattr(function, "func", function))
    name = getattr(plain, "__name__", repr(plain))
    code = getattr(plain, "__code__", None)
    return f"{name} ({code.co_filename}, line {code.co_firstlineno})" if code else name


def _from_users_line(frames: TracebackType | None) -> TracebackType | None:
    """The traceback without what comes before the first frame of code that is not a library's."""
    first = frames
    while first and first.tb_frame.f_code.co_filename.startswith(_LIBRARIES):
        first = first.tb_next
    return first or frames
