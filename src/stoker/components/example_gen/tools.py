# SPDX-License-Identifier: Apache-2.0
"""Small tools that users' own ExampleGens call; the names are TFX's."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from stoker.components.example_gen.spans import below, choose
from stoker.dsl.proto.example_gen_pb2 import Input
from stoker.dsl.proto.range_config_pb2 import RangeConfig

PAYLOAD_FORMAT_PROPERTY_NAME = "payload_format"
FILE_FORMAT_PROPERTY_NAME = "file_format"
FINGERPRINT_PROPERTY_NAME = "input_fingerprint"
SPAN_PROPERTY_NAME = "span"
VERSION_PROPERTY_NAME = "version"
SPAN_SPEC = "{SPAN}"
VERSION_SPEC = "{VERSION}"
YEAR_SPEC = "{YYYY}"
MONTH_SPEC = "{MM}"
DAY_SPEC = "{DD}"
DATE_SPECS = [YEAR_SPEC, MONTH_SPEC, DAY_SPEC]
SPAN_BEGIN_TIMESTAMP = "@span_begin_timestamp"
SPAN_END_TIMESTMAP = "@span_end_timestamp"
SPAN_YYYYMMDD_UTC = "@span_yyyymmdd_utc"
UNIX_EPOCH_DATE = datetime.datetime(1970, 1, 1)
UNIX_EPOCH_DATE_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def dict_to_example(instance: Mapping[str, Any]) -> Any:
    """A tf.train.Example of single values and lists; None and empty lists are empty features.

    0, 0.0 and "" are values. (TFX 1.14 began to lose them.)
    """
    from tensorflow.core.example import example_pb2

    # Beam reads the bytecode to learn what is returned, and takes Example(features=…) for a dict.
    example = example_pb2.Example()
    example.features.SetInParent()
    for name, value in instance.items():
        example.features.feature[name].CopyFrom(_make_feature(name, value))
    return example


def pyval_to_feature(pyval: list[Any]) -> Any:
    """A tf.train.Feature of a list."""
    return _make_feature("", pyval)


def _make_feature(name: str, value: Any) -> Any:
    from tensorflow.core.example import feature_pb2

    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        value = value.tolist()
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values or values == [None]:
        return feature_pb2.Feature()
    match values[0]:
        case int():
            return feature_pb2.Feature(int64_list=feature_pb2.Int64List(value=values))
        case float():
            return feature_pb2.Feature(float_list=feature_pb2.FloatList(value=values))
        case str() | bytes():
            texts = [one.encode() if isinstance(one, str) else one for one in values]
            return feature_pb2.Feature(bytes_list=feature_pb2.BytesList(value=texts))
    raise RuntimeError(
        f"The feature {name!r} cannot hold {type(values[0]).__name__}: {values[0]!r:.200}. An "
        "example holds integers, floats, text, bytes and flat lists of these: convert it first."
    )


def date_to_span_number(year: int, month: int, day: int) -> int:
    """A date as the number of days since 1970-01-01."""
    return (datetime.datetime(year, month, day) - UNIX_EPOCH_DATE).days


def span_number_to_date(span: int) -> tuple[int, int, int]:
    """The year, month and day of a span that is a date."""
    date = UNIX_EPOCH_DATE + datetime.timedelta(days=span)
    return date.year, date.month, date.day


def calculate_splits_fingerprint_span_and_version(
    input_base_uri: str, splits: Iterable[Input.Split], range_config: RangeConfig | None = None
) -> tuple[str, int, int | None]:
    """What identifies the files of the span to read, the span, and its version if it has one.

    The patterns of the splits become those of that span.
    """
    from stoker.data.input_files import find_files, fingerprint

    known = list(splits)
    chosen = choose(input_base_uri, known, range_config)
    for split in known:
        split.pattern = chosen.patterns[split.name]
    prints = [
        fingerprint(split.name, find_files(below(input_base_uri, split.pattern))) for split in known
    ]
    return "\n".join(prints), chosen.span, chosen.version
