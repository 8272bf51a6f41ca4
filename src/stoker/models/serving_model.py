# SPDX-License-Identifier: Apache-2.0
"""A model as a server sees it: tf.Examples go to one of its signatures, arrays come back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tfx_bsl.coders import example_coder

from stoker.errors import BadData, ModelRejected
from stoker.models.saved_model import Graph, TensorInfo, read_graphs

__all__ = ["SERVING_DEFAULT", "ServingModel", "SignatureInputs"]

SERVING_DEFAULT = "serving_default"

Arrays = dict[str, np.ndarray]


class SignatureInputs:
    """A signature of a SavedModel, and tf.Examples as what it takes; nothing is loaded.

    It takes serialized tf.Examples, or features by name as plain tensors. An empty `name` means
    the default signature, or the only one.
    """

    def __init__(self, folder: str, name: str = "", tags: Sequence[str] = ("serve",)) -> None:
        self.folder = folder
        self.graph = _graph(folder, frozenset(tags))
        self.name = name or _default(self.graph, folder)
        if self.name not in self.graph.signatures:
            known = ", ".join(sorted(self.graph.signatures)) or "none"
            raise ModelRejected(
                f"The model in {folder} has no signature {self.name!r}; it has {known}."
            )
        self.signature = self.graph.signatures[self.name]
        self._decoder = example_coder.ExamplesToRecordBatchDecoder()

    def of(self, records: Sequence[bytes]) -> Arrays:
        """What the signature is called with for some serialized tf.Examples."""
        if self.signature.takes_examples:
            (name,) = self.signature.inputs
            return {name: np.array(records, object)}
        batch = self._decoder.DecodeBatch(list(records))
        return {
            name: self._column(batch, name, info) for name, info in self.signature.inputs.items()
        }

    def __str__(self) -> str:
        return f"The signature {self.name!r} of the model in {self.folder}"

    def _column(self, batch: pa.RecordBatch, name: str, info: TensorInfo) -> np.ndarray:
        if name not in batch.schema.names:
            raise BadData(f"{self} takes {name!r}, and the examples have no such feature.")
        values = batch.column(name).flatten().to_numpy(zero_copy_only=False)
        try:
            rows: np.ndarray = values.reshape([len(batch), *(info.shape or [-1])[1:]])
        except ValueError as error:
            raise BadData(
                f"{self} takes {name!r} with the shape {info.shape}, and there are {len(values)} "
                f"values in {len(batch)} examples."
            ) from error
        return rows if info.dtype == "string" else rows.astype(info.dtype)


class ServingModel:
    """A SavedModel that is loaded, and asked by one of its signatures."""

    def __init__(
        self, folder: str, signature_name: str = "", tags: Sequence[str] = ("serve",)
    ) -> None:
        self.inputs = SignatureInputs(folder, signature_name, tags)
        self.signature = self.inputs.signature
        self.signature_name = self.inputs.name
        self._loaded = tf.saved_model.load(folder, tags=sorted(self.inputs.graph.tags))
        self._function = self._loaded.signatures[self.signature_name]

    def __call__(self, records: Sequence[bytes]) -> Arrays:
        """The outputs for some serialized tf.Examples, a row for each."""
        outputs = self.ask(self.inputs.of(records))
        for name, array in outputs.items():
            if not array.shape or len(array) != len(records):
                raise ModelRejected(
                    f"{self.inputs} gives {name!r} the shape {list(array.shape)} for "
                    f"{len(records)} examples: it should have a row for each."
                )
        return outputs

    def ask(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs for some inputs."""
        try:
            outputs: Mapping[str, Any] = self._function(
                **{name: tf.constant(array) for name, array in inputs.items()}
            )
        except (tf.errors.OpError, TypeError, ValueError) as error:
            raise ModelRejected(f"{self.inputs} fails: {error}") from error
        return {name: tensor.numpy() for name, tensor in outputs.items()}


def _graph(folder: str, tags: frozenset[str]) -> Graph:
    graphs = read_graphs(folder)
    for graph in graphs:
        if graph.tags == tags:
            return graph
    known = ", ".join(str(sorted(graph.tags)) for graph in graphs)
    raise ModelRejected(
        f"The model in {folder} has no graph with the tags {sorted(tags)}; it has {known}."
    )


def _default(graph: Graph, folder: str) -> str:
    if SERVING_DEFAULT in graph.signatures:
        return SERVING_DEFAULT
    if len(graph.signatures) == 1:
        return next(iter(graph.signatures))
    raise ModelRejected(
        f"The model in {folder} has no signature {SERVING_DEFAULT!r}: name one of "
        f"{', '.join(graph.signatures) or 'none'}."
    )
