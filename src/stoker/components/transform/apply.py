# SPDX-License-Identifier: Apache-2.0
"""A SavedModel applied to record batches: what every pass over the data does first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform.saved import constants
from tfx_bsl.coders import example_coder
from tfx_bsl.tfxio import tensor_representation_util as representations
from tfx_bsl.tfxio.tensor_adapter import TensorAdapter, TensorAdapterConfig

from stoker.components.transform.internals import GraphOfTensorFlow1, GraphOfTensorFlow2

__all__ = ["Graph", "tensor_adapter"]


def tensor_adapter(schema: schema_pb2.Schema) -> TensorAdapter:
    """What makes the tensors that the schema describes of a record batch."""
    return TensorAdapter(
        TensorAdapterConfig(
            arrow_schema(schema), representations.InferTensorRepresentationsFromMixedSchema(schema)
        )
    )


def arrow_schema(schema: schema_pb2.Schema) -> pa.Schema:
    """The columns of a record batch of examples with this schema."""
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema.SerializeToString())
    return decoder.ArrowSchema()


class Graph:
    """A SavedModel, loaded, as a function from a record batch to tensors by name."""

    def __init__(self, saved_model_dir: str, schema: schema_pb2.Schema) -> None:
        self._columns = arrow_schema(schema)
        self._adapter = tensor_adapter(schema)
        self._compat_v1 = _is_of_tensorflow_1(saved_model_dir)
        names = set(self._adapter.TypeSpecs())
        if self._compat_v1:
            self._state = GraphOfTensorFlow1(saved_model_dir, names, [], None)
        else:
            self._state = GraphOfTensorFlow2(saved_model_dir, names, [])

    def __call__(self, batch: pa.RecordBatch) -> Mapping[str, Any]:
        """The outputs of the graph for these rows."""
        tensors = self._adapter.ToBatchTensors(
            self._fitting(batch), produce_eager_tensors=not self._compat_v1
        )
        try:
            if not self._compat_v1:
                return self._state.callable_get_outputs(tensors)  # type: ignore[no-any-return]
            feeds = [tensors[name] for name in self._state.inputs_tensor_keys]
            outputs = self._state.callable_get_outputs(*feeds)
            return dict(zip(self._state.outputs_tensor_keys, outputs, strict=True))
        except tf.errors.OpError as error:
            raise ValueError(
                f"The graph of preprocessing_fn fails on a batch of {batch.num_rows} rows: "
                f"{_reason(error)}"
            ) from error

    def _fitting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
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


def _is_of_tensorflow_1(saved_model_dir: str) -> bool:
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString(Path(saved_model_dir, "saved_model.pb").read_bytes())
    return constants.TRANSFORM_SIGNATURE in saved.meta_graphs[0].signature_def


def _reason(error: tf.errors.OpError) -> str:
    """What an op had to say, without what TensorFlow puts around it."""
    around = ("Graph execution error", "Detected at", "<stack traces", "\t")
    lines = [line for line in error.message.splitlines() if line and not line.startswith(around)]
    return "\n".join(lines)
