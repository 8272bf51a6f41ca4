# SPDX-License-Identifier: Apache-2.0
"""`tfma.experimental.dataframe`, where TFMA is not installed: results as pandas data frames.

dfs = metrics_as_dataframes(tfma.load_metrics(path))
auto_pivot(dfs.double_value)
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from stoker.evaluation.results import read_slice_key

_OVERALL = "Overall"


@dataclass(frozen=True)
class MetricsDataFrames:
    """A frame for each kind of value."""

    double_value: Any = None
    bytes_value: Any = None
    debug_message: Any = None


@dataclass(frozen=True)
class PlotsDataFrames:
    """A frame for each kind of plot."""

    calibration_histogram_buckets: Any = None
    confusion_matrix_at_thresholds: Any = None
    multi_class_confusion_matrix_at_thresholds: Any = None
    debug_message: Any = None


def metrics_as_dataframes(
    metrics: Iterable[Any], *, include_empty_columns: bool = False
) -> MetricsDataFrames:
    """What `tfma.load_metrics` gives: a row for each metric of each slice."""
    pairs = ((one.slice_key, one.metric_keys_and_values) for one in metrics)
    frames = _make_frames(pairs, "metric_keys", "metric_values", include_empty_columns)
    return MetricsDataFrames(**frames)


def plots_as_dataframes(
    plots: Iterable[Any], *, include_empty_columns: bool = False
) -> PlotsDataFrames:
    """What `tfma.load_plots` gives: a row for each threshold or bucket of each slice."""
    pairs = ((one.slice_key, one.plot_keys_and_values) for one in plots)
    return PlotsDataFrames(**_make_frames(pairs, "plot_keys", "plot_data", include_empty_columns))


def auto_pivot(df: Any, stringify_slices: bool = True, collapse_column_names: bool = True) -> Any:
    """The same frame with slices down, and across what differs between the metrics."""
    keys, values = (
        ("plot_keys", "plot_data") if "plot_keys" in df else ("metric_keys", "metric_values")
    )
    frame = _join_slices(df) if stringify_slices else df
    differing = [
        (keys, name) for name in df[keys].columns if df[keys][name].nunique(dropna=False) > 1
    ]
    result = frame.pivot(
        index=[("slices", name) for name in frame["slices"].columns],
        columns=differing,
        values=[(values, name) for name in df[values].columns],
    )
    if stringify_slices:
        result.index.name = "slices"
    if collapse_column_names and result.columns.nlevels > 1:
        same = [
            level
            for level in range(result.columns.nlevels)
            if result.columns.get_level_values(level).nunique() == 1
        ]
        result.columns = result.columns.droplevel(same[: result.columns.nlevels - 1])
    return result


def _join_slices(df: Any) -> Any:
    """The columns of slices as one: `age:38; sex:male`."""
    import pandas as pd

    columns = df["slices"].columns
    words = df["slices"].agg(
        lambda row: "; ".join(
            f"{name}:{value}" for name, value in zip(columns, row, strict=True) if pd.notnull(value)
        ),
        axis=1,
    )
    joined = df.drop("slices", axis=1, level=0)
    joined.insert(0, ("slices", "stringified_slices"), words)
    return joined.sort_values(("slices", "stringified_slices"))


def _make_frames(
    pairs: Iterable[tuple[Any, Any]], keys: str, values: str, include_empty: bool
) -> dict[str, Any]:
    import pandas as pd

    rows: dict[str, list[dict[tuple[str, str], Any]]] = {}
    for slice_key, keys_and_values in pairs:
        place = {("slices", name): value for name, value in read_slice_key(slice_key)}
        place = place or {("slices", _OVERALL): ""}
        for pair in keys_and_values:
            key = {(keys, name): value for name, value in _flatten(pair.key, include_empty)}
            for field, value in pair.value.ListFields():
                for row in _list_rows(value):
                    named = {
                        (values, field.name if name == "value" else name): one
                        for name, one in row.items()
                    }
                    rows.setdefault(field.name, []).append({**place, **key, **named})
    return {
        kind: pd.DataFrame(
            {column: [row.get(column) for row in many] for column in _list_columns(many)}
        )
        for kind, many in rows.items()
    }


def _list_columns(rows: Iterable[dict[tuple[str, str], Any]]) -> list[tuple[str, str]]:
    """All columns: those of slices first, then keys, then values."""
    found = {column: None for row in rows for column in row}
    order = ("slices", "metric_keys", "plot_keys", "metric_values", "plot_data")
    return sorted(found, key=lambda column: order.index(column[0]))


def _list_rows(value: Any) -> Iterator[dict[str, Any]]:
    """What a value has to say: a number, or a row for each message that it repeats."""
    if not isinstance(value, Message):
        yield {"value": value}
        return
    repeated = [(field.name, many) for field, many in value.ListFields() if field.is_repeated]
    if not repeated:
        yield dict(_flatten(value, False))
    for _, many in repeated:
        own = {name: one for name, one in _flatten(value, False) if name not in dict(repeated)}
        for one in many:
            for row in _list_rows(one):
                yield {**own, **row}


def _flatten(message: Message, include_empty: bool) -> Iterator[tuple[str, Any]]:
    """The fields of a message that are no messages themselves; those of wrappers by their name."""
    for field in message.DESCRIPTOR.fields:
        value: Any = getattr(message, field.name)
        if field.is_repeated:
            continue
        if not hasattr(value, "DESCRIPTOR"):
            yield field.name, value
        elif not message.HasField(field.name):
            if include_empty:
                yield field.name, None
        elif list(value.DESCRIPTOR.fields_by_name) == ["value"]:
            yield field.name, value.value
        else:
            yield from _flatten(value, include_empty)
