# SPDX-License-Identifier: Apache-2.0
"""Transformed tensors become the columns of examples: the last thing that happens to a batch."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform import impl_helper


class ColumnsFromTensors:
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
