# SPDX-License-Identifier: Apache-2.0
"""Batches with sparse and ragged tensors for a loop in Python: one call into TensorFlow per batch.

tf.data hands such tensors on in an encoded form, and a loop outside of a graph decodes them by an
op for each feature, which takes longer than all the rest. Here one function reads a batch and
decodes it. In a graph, as in `fit`, and for whatever is made of the dataset by `map`, `batch`, …
all is as with any other dataset: the encoding is the same, and so is the iterator's resource.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.eager import context, execute
from tensorflow.python.ops.ragged import row_partition


class BatchDataset(tf.data.Dataset):  # type: ignore[misc]
    """The same dataset, with iterators of our own where those are faster."""

    def __init__(self, dataset: tf.data.Dataset) -> None:
        self._dataset = dataset
        super().__init__(dataset._variant_tensor)

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._dataset]

    @property
    def element_spec(self) -> Any:
        """What a batch is."""
        return self._dataset.element_spec

    def __iter__(self) -> Any:
        if not tf.executing_eagerly():
            return super().__iter__()
        return _BatchIterator(self)

    @functools.cached_property
    def read_batch(self) -> Callable[[Any], list[Any]]:
        """What gives the tensors of an iterator's next batch, and the parts of those that have."""

        def read(iterator: Any) -> Any:
            return tf.nest.flatten(next(iterator), expand_composites=True)

        signature = [tf.data.IteratorSpec(self.element_spec)]
        function = tf.function(read, input_signature=signature, autograph=False)
        concrete = function.get_concrete_function()
        options = context.context().function_call_options
        # In the thread that asks: ops this small take less time than to find them another one.
        executor = ("executor_type", "SINGLE_THREADED_EXECUTOR")
        attributes = (*executor, "config_proto", options.config_proto_serialized)
        num_outputs = len(concrete.outputs)

        def call(resource: tf.Tensor) -> list[Any]:
            # Without the checks of arguments that the function itself would make at every call;
            # it is named here, or it would be gone.
            name, here = concrete.name, context.context()
            return list(execute.execute(name, num_outputs, [resource], attributes, here))

        return call


class _BatchIterator(iterator_ops.OwnedIterator):  # type: ignore[misc]
    """An iterator over a dataset with tensors that are made of several."""

    def __init__(self, dataset: BatchDataset) -> None:
        super().__init__(dataset)
        self._source = dataset
        self._leaves = tf.nest.flatten(self.element_spec)

    def _next_internal(self) -> Any:
        if not tf.executing_eagerly():
            return super()._next_internal()
        parts = iter(self._source.read_batch(self._iterator_resource))
        tensors = [_MAKE.get(type(spec), _take)(spec, parts) for spec in self._leaves]
        return tf.nest.pack_sequence_as(self.element_spec, tensors)


def has_parts(element_spec: Any) -> bool:
    """Whether a batch has tensors that are made of several."""
    return any(type(spec) in _MAKE for spec in tf.nest.flatten(element_spec))


def _take(_: tf.TensorSpec, parts: Iterator[tf.Tensor]) -> tf.Tensor:
    return next(parts)


def _make_sparse(_: tf.SparseTensorSpec, parts: Iterator[tf.Tensor]) -> tf.SparseTensor:
    # As its own __init__ would do it, without a look at what TensorFlow has just made.
    tensor = tf.SparseTensor.__new__(tf.SparseTensor)
    tensor._indices, tensor._values, tensor._dense_shape = next(parts), next(parts), next(parts)
    tensor._dense_shape_default = _shape(*tensor._dense_shape.numpy().tolist())
    return tensor


def _make_ragged(spec: tf.RaggedTensorSpec, parts: Iterator[tf.Tensor]) -> tf.RaggedTensor:
    values, *splits = (next(parts) for _ in range(1 + spec.ragged_rank))
    if any(size is not None for size in spec.shape.as_list()[1 : 1 + spec.ragged_rank]):
        return spec._from_components([values, *splits])  # with what it knows of uniform rows
    for one in reversed(splits):
        partition = row_partition.RowPartition(
            row_splits=one, internal=row_partition._row_partition_factory_key
        )
        values = tf.RaggedTensor(values, partition, internal=True)
    return values


@functools.lru_cache(maxsize=1 << 12)
def _shape(*sizes: int) -> tf.TensorShape:
    # A SparseFeature of which the schema does not say how large an index may be has the size -1.
    return tf.TensorShape([None if size < 0 else size for size in sizes])


_MAKE: dict[type, Callable[[Any, Iterator[tf.Tensor]], Any]] = {
    tf.SparseTensorSpec: _make_sparse,
    tf.RaggedTensorSpec: _make_ragged,
}
