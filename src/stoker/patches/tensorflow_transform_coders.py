# SPDX-License-Identifier: Apache-2.0
"""tensorflow-transform's coders decode again: scripts for 0.1 to 0.26 read their rows by them.

CsvCoder(["x", "y"], schema).decode("1,a")      {"x": 1.0, "y": b"a"}, a row for AnalyzeDataset
ExampleProtoCoder(schema).decode(serialized)    the same of a tf.Example

Today's coders only encode.
"""

import csv
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import
from stoker.patches.registry import PATCHES

_CODERS = {"csv_coder": "CsvCoder", "example_proto_coder": "ExampleProtoCoder"}
_COLUMNS = "stoker_columns"


def give_back_decode() -> None:
    """Let it be so once the coders are imported, which this does not do."""
    for module in _CODERS:
        after_import(f"tensorflow_transform.coders.{module}", _add_decode)


def _add_decode(module: ModuleType) -> None:
    patch = PATCHES["transform-coders"]
    patch.check_version()
    name = _CODERS[module.__name__.rpartition(".")[2]]
    patch.check_names(module, name)
    vars(module)[name].decode = _decode_csv if name == "CsvCoder" else _decode_example


def _decode_csv(self: Any, csv_string: str | bytes) -> dict[str, Any]:
    """A line of CSV as a row: values by the names of the schema's columns."""
    text = csv_string.decode() if isinstance(csv_string, bytes) else csv_string
    (cells,) = csv.reader([text], delimiter=self._delimiter)
    names = list(self._column_names)
    if len(cells) != len(names):
        raise ValueError(
            f"A line has {len(cells)} columns, and CsvCoder was given {len(names)} names: "
            f"{text!r}. Check column_names and delimiter."
        )
    by_name = dict(zip(names, cells, strict=True))

    def list_values(name: str) -> list[str]:
        cell = by_name[name]
        if name in self._multivalent_columns:
            return next(csv.reader([cell], delimiter=self._secondary_delimiter), [])
        return [cell] if cell else []

    return _make_row(self, list_values)


def _decode_example(self: Any, serialized: Any) -> dict[str, Any]:
    """A tf.Example, serialized unless the coder was told otherwise, as a row."""
    import tensorflow as tf

    example = tf.train.Example.FromString(serialized) if self._serialized else serialized
    features = example.features.feature

    def list_values(name: str) -> list[Any]:
        kind = features[name].WhichOneof("kind") if name in features else None
        return list(getattr(features[name], kind).value) if kind else []

    return _make_row(self, list_values)


def _make_row(coder: Any, list_values: Callable[[str], list[Any]]) -> dict[str, Any]:
    if not hasattr(coder, _COLUMNS):
        setattr(coder, _COLUMNS, dict(_list_columns(coder._schema)))
    columns = getattr(coder, _COLUMNS)
    return {name: convert(list_values(name)) for name, convert in columns.items()}


def _list_columns(schema: Any) -> Iterator[tuple[str, Callable[[list[Any]], Any]]]:
    """What makes a value of the texts or numbers of each column."""
    import tensorflow as tf
    from tensorflow_transform.tf_metadata import schema_utils

    for name, spec in schema_utils.schema_as_feature_spec(schema).feature_spec.items():
        match spec:
            case tf.io.FixedLenFeature():
                yield name, _fix_length(name, spec)
            case tf.io.VarLenFeature(dtype=dtype):
                yield name, _convert_to(dtype)
            case tf.io.SparseFeature(index_key=keys, value_key=value_key, dtype=dtype):
                for key in keys if isinstance(keys, list) else [keys]:
                    yield key, _convert_to(tf.int64)
                yield value_key, _convert_to(dtype)
            case _:
                raise ValueError(
                    f"A coder cannot decode {name!r}, which is a {type(spec).__name__}."
                )


def _fix_length(name: str, spec: Any) -> Callable[[list[Any]], Any]:
    import numpy as np

    convert, shape = _convert_to(spec.dtype), tuple(spec.shape)
    size = int(np.prod(shape))

    def fix(values: list[Any]) -> Any:
        if len(values) != size:
            raise ValueError(
                f"The feature {name!r} has {len(values)} values, and the schema says {size}. Check "
                "the data, or make it a VarLenFeature."
            )
        return convert(values).reshape(shape)[()]

    return fix


def _convert_to(dtype: Any) -> Callable[[list[Any]], Any]:
    import numpy as np

    is_text = dtype.name == "string"

    def convert(values: list[Any]) -> Any:
        if is_text:
            return np.array([_to_bytes(value) for value in values], dtype=object)
        return np.array(
            [float(value) if dtype.is_floating else int(value) for value in values],
            dtype=dtype.as_numpy_dtype,
        )

    return convert


def _to_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
