# SPDX-License-Identifier: Apache-2.0
"""A SavedModel applied to record batches: what every pass over the data does with each of them."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform import TFTransformOutput, impl_helper
from tensorflow_transform.saved import constants
from tensorflow_transform.saved.saved_transform_io_v2 import SavedModelLoader
from tfx_bsl.coders import example_coder
from tfx_bsl.tfxio import tensor_representation_util as representations
from tfx_bsl.tfxio.tensor_adapter import TensorAdapter, TensorAdapterConfig

from stoker.transform.internals import inputs_of, load_graph_of_tensorflow_1


def tensor_adapter(schema: schema_pb2.Schema, names: Set[str] | None = None) -> TensorAdapter:
    """What makes the tensors that the schema describes, or some of them, of a record batch."""
    found = representations.InferTensorRepresentationsFromMixedSchema(schema)
    wanted = {name: tensor for name, tensor in found.items() if names is None or name in names}
    return TensorAdapter(TensorAdapterConfig(_columns(schema), wanted))


class LoadedGraph:
    """A SavedModel, loaded, as a function from a record batch to tensors by name.

    Tensors are made only of the features that the graph's outputs need.
    """

    def __init__(self, saved_model_dir: str, schema: schema_pb2.Schema) -> None:
        self._columns = _columns(schema)
        self._is_of_tensorflow_1 = _is_of_tensorflow_1(saved_model_dir)
        if self._is_of_tensorflow_1:
            self._state = load_graph_of_tensorflow_1(saved_model_dir)
            needed = frozenset(self._state.inputs_tensor_keys)
        else:
            self._loader = SavedModelLoader(saved_model_dir)
            needed = inputs_of(self._loader)
            self._loader.finalize(needed, set(self._loader.structured_outputs))
        self._adapter = tensor_adapter(schema, needed)

    def __call__(self, batch: pa.RecordBatch) -> Mapping[str, Any]:
        """The outputs of the graph for these rows."""
        tensors = self._adapter.ToBatchTensors(
            self._fit_to_schema(batch), produce_eager_tensors=not self._is_of_tensorflow_1
        )
        try:
            return self._outputs(tensors)
        except tf.errors.OpError as error:
            raise ValueError(
                f"The graph of preprocessing_fn fails on a batch of {batch.num_rows} rows: "
                f"{_reason(error)}"
            ) from error

    def _outputs(self, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._is_of_tensorflow_1:
            outputs: dict[str, Any] = self._loader.apply_transform_model(tensors)
            return outputs
        feeds = [tensors[name] for name in self._state.inputs_tensor_keys]
        values = self._state.callable_get_outputs(*feeds)
        return dict(zip(self._state.outputs_tensor_keys, values, strict=True))

    def _fit_to_schema(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The schema's columns of a batch; one that the batch does not have is empty."""
        if batch.schema.equals(self._columns):
            return batch
        found = {
            field.name: batch.column(index).cast(field.type)
            if (index := batch.schema.get_field_index(field.name)) >= 0
            else pa.nulls(batch.num_rows, field.type)
            for field in self._columns
        }
        return pa.RecordBatch.from_arrays(list(found.values()), schema=self._columns)


def load_graph(saved_model_dir: str, schema: schema_pb2.Schema) -> LoadedGraph:
    """A graph, which this process keeps for the next shard that it is applied to."""
    return _load_graph(saved_model_dir, schema.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=1)
def _load_graph(saved_model_dir: str, schema: bytes) -> LoadedGraph:
    return LoadedGraph(saved_model_dir, schema_pb2.Schema.FromString(schema))


def apply_graph(
    transform_graph_dir: str, batches: Iterable[pa.RecordBatch], *, schema: schema_pb2.Schema
) -> Iterator[pa.RecordBatch]:
    """The batches after the graph in `transform_graph_dir`; `schema` is that of the raw data."""
    output = TFTransformOutput(transform_graph_dir)
    graph = load_graph(output.transform_savedmodel_dir, schema)
    columns = _ColumnsFromTensors(output.transformed_metadata.schema)
    return (columns(graph(batch)) for batch in batches if batch.num_rows)


def calls_python(saved_model_dir: str) -> bool:
    """Whether a graph calls a Python function, which is only in the process that traced it."""
    graph = _saved_model(saved_model_dir).meta_graphs[0].graph_def
    functions = (function.node_def for function in graph.library.function)
    return any("PyFunc" in node.op for node in chain(graph.node, *functions))


def _is_of_tensorflow_1(saved_model_dir: str) -> bool:
    signatures = _saved_model(saved_model_dir).meta_graphs[0].signature_def
    return constants.TRANSFORM_SIGNATURE in signatures


def _saved_model(saved_model_dir: str) -> saved_model_pb2.SavedModel:
    return saved_model_pb2.SavedModel.FromString(
        Path(saved_model_dir, "saved_model.pb").read_bytes()
    )


def _columns(schema: schema_pb2.Schema) -> pa.Schema:
    """The columns of a record batch of examples with this schema."""
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema.SerializeToString())
    return decoder.ArrowSchema()


def _reason(error: tf.errors.OpError) -> str:
    """What an op had to say, without what TensorFlow puts around it."""
    around = ("Graph execution error", "Detected at", "<stack traces", "\t")
    lines = [line for line in error.message.splitlines() if line and not line.startswith(around)]
    return "\n".join(lines)


class _ColumnsFromTensors:
    """Makes a column for each feature of the transformed schema.

    The features of a ragged tensor are its values and, for every further dimension, the lengths
    of its rows.
    """

    def __init__(self, schema: schema_pb2.Schema) -> None:
        self._converter = impl_helper.make_tensor_to_arrow_converter(schema)
        self._ragged = {
            name: tensor.ragged_tensor
            for group in schema.tensor_representation_group.values()
            for name, tensor in group.tensor_representation.items()
            if tensor.HasField("ragged_tensor")
        }

    def __call__(self, tensors: Mapping[str, Any]) -> pa.RecordBatch:
        """A batch that encodes to the examples of these tensors."""
        batch = self._converter.convert(tensors)
        if not self._ragged:
            return batch
        columns: dict[str, pa.Array] = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in self._ragged:
                columns.update(_flat(column, self._ragged[name]))
            else:
                columns[name] = column
        return pa.record_batch(columns)


def _flat(
    column: pa.LargeListArray, ragged: schema_pb2.TensorRepresentation.RaggedTensor
) -> Iterator[tuple[str, pa.Array]]:
    for partition in ragged.partition:
        rows = column.values
        if partition.HasField("row_length"):
            lengths = pc.list_value_length(rows)
            yield partition.row_length, pa.LargeListArray.from_arrays(column.offsets, lengths)
        column = pa.LargeListArray.from_arrays(rows.offsets.take(column.offsets), rows.values)
    yield ".".join(ragged.feature_path.step), column
