# SPDX-License-Identifier: Apache-2.0
"""Every private name of tensorflow-transform that the local engine stands on, in one place.

They are those of 1.21, to which the dependency is pinned. Each has the name by which the engine
knows it; when the pin moves, this is the file to check first.
"""

import importlib
import os
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import tensorflow as tf
from tensorflow_transform import analyzer_nodes, graph_tools, impl_helper
from tensorflow_transform.analyzers import _QuantilesSketchCacheCoder, _VocabOrderingType
from tensorflow_transform.saved.saved_transform_io_v2 import SavedModelLoader
from tensorflow_transform.tf_metadata import metadata_io
from tensorflow_transform.tf_metadata.dataset_metadata import DatasetMetadata

from stoker.patches.tensorflow_transform_graph import import_graph_builder

_graph = import_graph_builder()

build_graph = _graph.analysis_graph_builder.build
"""(graph, inputs, outputs, dataset keys, caches): the last node, and those of the caches."""

beam_nodes: Any = _graph.beam_nodes
"""The nodes that the builder adds to those of the analyzers."""

DatasetKey: Any = _graph.analyzer_cache.DatasetKey
"""(key): a dataset that is analyzed."""

DatasetCache: Any = _graph.analyzer_cache.DatasetCache
"""(entries, metadata): what is known of a dataset."""

Ordering = _VocabOrderingType
"""What a vocabulary is ordered by."""


@dataclass(frozen=True)
class TensorBinding:
    """The value of an analyzer, and the tensor that it replaces."""

    value: Any
    tensor_name: str
    dtype_enum: int
    is_asset_filepath: bool


def tensors_by_name(*bindings: TensorBinding) -> dict[str, tf.Tensor]:
    """The constants that replace tensors, by the names of those."""
    return {
        one.tensor_name: tf.constant(one.value, tf.dtypes.as_dtype(one.dtype_enum))
        for one in bindings
    }


def transformed_metadata(saved_model_dir: str, *, compat_v1: bool) -> DatasetMetadata:
    """The metadata of what a graph without analyzers puts out."""
    if compat_v1:
        return _import("impl")._infer_metadata_from_saved_model(saved_model_dir, True)
    return metadata_io.read_metadata(os.path.join(saved_model_dir, impl_helper.METADATA_DIR_NAME))


def _import(name: str) -> Any:
    """A module that imports Apache Beam: for graphs of TensorFlow 1, and for a few analyzers."""
    return importlib.import_module(f"tensorflow_transform.beam.{name}")


def bind_tensors_of_tensorflow_1(
    saved_model_dir: str, tmp_dir: str, *bindings: TensorBinding
) -> str:
    """Where a copy of the SavedModel is, its tensors bound."""
    impl = _import("impl")
    theirs = [impl._TensorBinding(*astuple(one)) for one in bindings]
    path: str = impl._replace_tensors_with_constant_values(saved_model_dir, tmp_dir, *theirs)
    return path


def load_graph_of_tensorflow_1(saved_model_dir: str) -> Any:
    """A callable on raw tensors."""
    return _import("impl")._RunMetaGraphDoFn._GraphStateCompatV1(saved_model_dir, [], [], None)


def _call_analyzer(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(_import("analyzer_impls"), name)(*args)


means_per_token = _call_analyzer("_flatten_to_key_and_means_accumulator_list")
"""A batch's tokens, each with an accumulator of its label's means."""

mutual_information = _call_analyzer("_calculate_mutual_information_for_feature_value")
"""((token, accumulator), accumulator of all, …): (token, (information, expected, frequency))."""

joined_boundaries = _call_analyzer("_join_boundary_rows")
"""A row of boundaries per key: (boundaries, scale, shift, number of buckets) for all keys."""

count_and_token = _call_analyzer("_count_and_token_to_bytes")
"""A line of a vocabulary with frequencies."""

SketchCoder = _QuantilesSketchCacheCoder
"""What encodes the sketches of quantiles, by pickling them."""

PerKeyCoder = analyzer_nodes._CombinerPerKeyAccumulatorCoder
"""What encodes a key and its accumulator."""


def inputs_of(loader: SavedModelLoader) -> frozenset[str]:
    """The names of the inputs that a loaded graph needs, for its outputs and for its assertions."""
    graph = loader._func_graph
    stateful = [
        operation
        for operation in graph.get_operations()
        if operation.op_def.is_stateful and operation.inputs
    ]
    outputs = [tensor.op for tensor in graph.outputs]
    sources = graph_tools.retrieve_sources([*stateful, *outputs])
    return frozenset(
        name
        for name, tensor in loader._structured_inputs.items()
        if any(part in sources for part in tf.nest.flatten(tensor, expand_composites=True))
    )


def per_key_parts(
    coder: Any, record: bytes
) -> tuple[tuple[bytes, bytes], analyzer_nodes.CacheCoder]:
    """A key and its encoded accumulator, and what decodes that."""
    parts: tuple[bytes, bytes] = coder._vocabulary_coder.decode_cache(record)
    return parts, coder._combiner_coder
