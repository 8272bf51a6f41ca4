# SPDX-License-Identifier: Apache-2.0
"""Every private name of tensorflow-transform that the local engine stands on, in one place.

They are those of 1.21, to which the dependency is pinned. Each has the name by which the engine
knows it; when the pin moves, this is the file to check first.
"""

from typing import Any

import tensorflow as tf
from tensorflow_transform import analyzer_nodes, graph_tools
from tensorflow_transform.analyzers import _QuantilesSketchCacheCoder, _VocabOrderingType
from tensorflow_transform.beam import analyzer_impls, impl
from tensorflow_transform.saved.saved_transform_io_v2 import SavedModelLoader

Ordering = _VocabOrderingType
"""What a vocabulary is ordered by."""

TensorBinding = impl._TensorBinding
"""The value of an analyzer, and the tensor that it replaces."""

tensors_by_name = impl._get_tensor_replacement_map
"""(None, *bindings): the constants that replace tensors, by the names of those."""

bind_tensors_of_tensorflow_1 = impl._replace_tensors_with_constant_values
"""(saved_model_dir, temp_dir, *bindings): where a copy of the SavedModel is, its tensors bound."""

GraphOfTensorFlow1 = impl._RunMetaGraphDoFn._GraphStateCompatV1
"""(saved_model_dir, names of inputs, outputs to leave out, config): a callable on raw tensors."""

means_per_token = analyzer_impls._flatten_to_key_and_means_accumulator_list
"""A batch's tokens, each with an accumulator of its label's means."""

mutual_information = analyzer_impls._calculate_mutual_information_for_feature_value
"""((token, accumulator), accumulator of all, …): (token, (information, expected, frequency))."""

joined_boundaries = analyzer_impls._join_boundary_rows
"""A row of boundaries per key: (boundaries, scale, shift, number of buckets) for all keys."""

count_and_token = analyzer_impls._count_and_token_to_bytes
"""A line of a vocabulary with frequencies."""

transformed_metadata = impl._infer_metadata_from_saved_model
"""(saved_model_dir, compat_v1): the metadata of what a graph without analyzers puts out."""

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
