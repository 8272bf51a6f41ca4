# SPDX-License-Identifier: Apache-2.0
"""Which tensor a schema makes of which features: what it says itself, and rules for the rest.

The rules are those of tfx_bsl: a feature with a shape is dense, and any other one is of variable
length; what a sparse feature is made of is no tensor of its own.
"""

import math
from typing import Any

import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2

_Representation = schema_pb2.TensorRepresentation
_NOT_YET_OR_NO_MORE = {
    schema_pb2.DEPRECATED,
    schema_pb2.DISABLED,
    schema_pb2.PLANNED,
    schema_pb2.ALPHA,
    schema_pb2.DEBUG_ONLY,
    schema_pb2.VALIDATION_DERIVED,
}
_DTYPES = {
    schema_pb2.BYTES: tf.string,
    schema_pb2.INT: tf.int64,
    schema_pb2.FLOAT: tf.float32,
}
_DEFAULT_FIELDS = {
    schema_pb2.BYTES: "bytes_value",
    schema_pb2.INT: "int_value",
    schema_pb2.FLOAT: "float_value",
}


def find_representations(schema: schema_pb2.Schema) -> dict[str, schema_pb2.TensorRepresentation]:
    """What each tensor is made of, by its name."""
    inferred = _infer(schema)
    if "" not in schema.tensor_representation_group:
        return inferred
    told = dict(schema.tensor_representation_group[""].tensor_representation)
    used = {name for tensor in told.values() for name in _source_columns(tensor)}
    rest = {name: tensor for name, tensor in inferred.items() if name not in used}
    return told | {name: tensor for name, tensor in rest.items() if name not in told}


def value_column(tensor: schema_pb2.TensorRepresentation) -> str:
    """The feature that a tensor has its values from."""
    kind = tensor.WhichOneof("kind")
    if kind == "ragged_tensor":
        return _path(tensor.ragged_tensor)[0]
    if kind == "sparse_tensor":
        return str(tensor.sparse_tensor.value_column_name)
    if kind in ("dense_tensor", "varlen_sparse_tensor"):
        return str(getattr(tensor, kind).column_name)
    raise ValueError(
        f"The schema has a tensor of the kind {kind}, which examples cannot be."
        " Use a dense, sparse or ragged one."
    )


def parser_config(tensor: schema_pb2.TensorRepresentation, kind: int) -> Any:
    """What tf.io.parse_example is told of a tensor with values of this FeatureType."""
    if kind not in _DTYPES:
        raise ValueError(
            f"The schema says that {value_column(tensor)!r} is of type "
            f"{schema_pb2.FeatureType.Name(kind)}. A tensor takes BYTES, INT or FLOAT."
        )
    dtype = _DTYPES[kind]
    if tensor.HasField("dense_tensor"):
        return _dense_config(tensor.dense_tensor, kind)
    if tensor.HasField("sparse_tensor"):
        sparse = tensor.sparse_tensor
        return tf.io.SparseFeature(
            index_key=list(sparse.index_column_names),
            value_key=sparse.value_column_name,
            dtype=dtype,
            size=_dimensions(sparse.dense_shape),
            already_sorted=sparse.already_sorted,
        )
    if tensor.HasField("ragged_tensor"):
        return _ragged_config(tensor.ragged_tensor, dtype)
    return tf.io.VarLenFeature(dtype)


def _dense_config(
    dense: schema_pb2.TensorRepresentation.DenseTensor, kind: int
) -> tf.io.FixedLenFeature:
    shape = _dimensions(dense.shape)
    default = None
    if dense.HasField("default_value"):
        field = dense.default_value.WhichOneof("kind")
        if field != _DEFAULT_FIELDS[kind]:
            raise ValueError(
                f"The schema's default value of {dense.column_name!r} is a {field}, but the "
                f"feature is of type {schema_pb2.FeatureType.Name(kind)}."
                " Give it one of that type."
            )
        default = [getattr(dense.default_value, field)] * math.prod(shape)
    return tf.io.FixedLenFeature(shape, _DTYPES[kind], default)


def _ragged_config(
    ragged: schema_pb2.TensorRepresentation.RaggedTensor, dtype: tf.DType
) -> tf.io.RaggedFeature:
    (name,) = _path(ragged)
    partitions = []
    for partition in ragged.partition:
        kind = partition.WhichOneof("kind")
        if kind == "uniform_row_length":
            partitions.append(tf.io.RaggedFeature.UniformRowLength(partition.uniform_row_length))
        elif kind == "row_length":
            partitions.append(tf.io.RaggedFeature.RowLengths(partition.row_length))
        else:
            raise ValueError(
                f"The schema partitions the ragged tensor of {name!r} by {kind}. Use row_length or "
                "uniform_row_length."
            )
    small = ragged.row_partition_dtype == _Representation.RowPartitionDType.INT32
    return tf.io.RaggedFeature(
        dtype, name, partitions, row_splits_dtype=tf.int32 if small else tf.int64
    )


def _path(ragged: schema_pb2.TensorRepresentation.RaggedTensor) -> list[str]:
    steps = list(ragged.feature_path.step)
    if len(steps) != 1:
        raise ValueError(
            f"The schema has a ragged tensor of the feature {'.'.join(steps)!r}. In a tf.Example, "
            "features have no others inside: name one feature."
        )
    return steps


def _source_columns(tensor: schema_pb2.TensorRepresentation) -> list[str]:
    names = [value_column(tensor), *tensor.sparse_tensor.index_column_names]
    lengths = [partition.row_length for partition in tensor.ragged_tensor.partition]
    return names + [name for name in lengths if name]


def _infer(schema: schema_pb2.Schema) -> dict[str, schema_pb2.TensorRepresentation]:
    remaining = {feature.name: feature for feature in schema.feature}
    tensors = {
        sparse.name: _infer_sparse(sparse, remaining)
        for sparse in schema.sparse_feature
        if _is_in_use(sparse)
    }
    for feature in remaining.values():
        if not _is_in_use(feature):
            continue
        if not feature.HasField("shape"):
            tensors[feature.name] = _of_any_length(feature.name, schema)
        elif feature.presence.min_fraction == 1:
            tensors[feature.name] = _Representation(
                dense_tensor=_Representation.DenseTensor(
                    column_name=feature.name, shape=feature.shape
                )
            )
        else:
            raise ValueError(
                f"The schema gives {feature.name!r} a shape, but a presence.min_fraction of "
                f"{feature.presence.min_fraction}. Set it to 1, or give a value_count, no shape."
            )
    return tensors


def _infer_sparse(
    sparse: schema_pb2.SparseFeature, remaining: dict[str, schema_pb2.Feature]
) -> schema_pb2.TensorRepresentation:
    """A tensor of these features, which no other tensor is made of then."""
    shape = schema_pb2.FixedShape()
    names = [feature.name for feature in sparse.index_feature]
    for name in names:
        shape.dim.add(size=_find_size(_use(name, sparse, remaining), sparse))
    _use(sparse.value_feature.name, sparse, remaining)
    return _Representation(
        sparse_tensor=_Representation.SparseTensor(
            dense_shape=shape,
            index_column_names=names,
            value_column_name=sparse.value_feature.name,
            already_sorted=sparse.is_sorted or None,
        )
    )


def _use(
    name: str, sparse: schema_pb2.SparseFeature, remaining: dict[str, schema_pb2.Feature]
) -> schema_pb2.Feature:
    if name not in remaining:
        raise ValueError(
            f"The schema's sparse feature {sparse.name!r} is made of {name!r}, which the schema "
            "has not, or which another one is made of."
            " Name other features."
        )
    return remaining.pop(name)


def _find_size(index: schema_pb2.Feature, sparse: schema_pb2.SparseFeature) -> int:
    """How many places an index has; -1 if that is not known."""
    if not index.HasField("int_domain"):
        return -1
    domain = index.int_domain
    if not (domain.HasField("min") and domain.HasField("max")) or domain.min != 0:
        raise ValueError(
            f"The schema's sparse feature {sparse.name!r} has the index {index.name!r}, whose "
            "int_domain is not from 0 to a known number. Set min: 0 and max."
        )
    return int(domain.max) + 1


def _is_in_use(feature: schema_pb2.Feature | schema_pb2.SparseFeature) -> bool:
    return not feature.deprecated and feature.lifecycle_stage not in _NOT_YET_OR_NO_MORE


def _of_any_length(name: str, schema: schema_pb2.Schema) -> schema_pb2.TensorRepresentation:
    tensor = _Representation()
    if schema.represent_variable_length_as_ragged:
        tensor.ragged_tensor.feature_path.step.append(name)
    else:
        tensor.varlen_sparse_tensor.column_name = name
    return tensor


def _dimensions(shape: schema_pb2.FixedShape) -> list[int]:
    return [dimension.size for dimension in shape.dim]
