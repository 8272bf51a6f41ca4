# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: statistics, schemas and anomalies, in Stoker's own views."""

from collections.abc import Iterable
from typing import Any

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.errors import MissingPart
from stoker.stand_ins.tfdv.feature_path import FeaturePath
from stoker.stand_ins.tfdv.files import check_message
from stoker.stand_ins.tfdv.frames import get_anomalies_dataframe, get_schema_dataframe
from stoker.stand_ins.tfdv.slices import choose_all_examples, get_slice_stats
from stoker.statistics.messages import Statistics, feature_name
from stoker.views.markup import frame
from stoker.views.statistics_view import compare_statistics

_LHS, _RHS = "lhs_statistics", "rhs_statistics"


def visualize_statistics(
    lhs_statistics: Statistics,
    rhs_statistics: Statistics | None = None,
    lhs_name: str | None = _LHS,
    rhs_name: str | None = _RHS,
    allowlist_features: Iterable[FeaturePath | str] | None = None,
    denylist_features: Iterable[FeaturePath | str] | None = None,
) -> None:
    """Show statistics in a notebook; two data sets lie over each other.

    Args:
        lhs_statistics: Those to show; of slices, those of all examples.
        rhs_statistics: Those to compare with.
        lhs_name: What the first are called.
        rhs_name: What the others are called.
        allowlist_features: The features to show; all of them by default.
        denylist_features: Or those to leave out.
    """
    html = get_statistics_html(
        lhs_statistics, rhs_statistics, lhs_name, rhs_name, allowlist_features, denylist_features
    )
    _display_html(html)


def get_statistics_html(
    lhs_statistics: Statistics,
    rhs_statistics: Statistics | None = None,
    lhs_name: str | None = _LHS,
    rhs_name: str | None = _RHS,
    allowlist_features: Iterable[FeaturePath | str] | None = None,
    denylist_features: Iterable[FeaturePath | str] | None = None,
) -> str:
    """Statistics as HTML, without a script, and with nothing that has to be fetched."""
    named = {_name(lhs_statistics, lhs_name, _LHS): choose_all_examples(lhs_statistics)}
    if rhs_statistics is not None:
        right = _name(rhs_statistics, rhs_name, _RHS)
        if right in named:  # two names, so that both are shown
            named, right = {_LHS: next(iter(named.values()))}, _RHS
        named[right] = choose_all_examples(rhs_statistics)
    chosen = {
        name: _choose_features(statistics, allowlist_features, denylist_features)
        for name, statistics in named.items()
    }
    return frame(compare_statistics(chosen))


def compare_slices(statistics: Statistics, lhs_slice_key: str, rhs_slice_key: str) -> None:
    """Show two slices over each other."""
    left, right = (get_slice_stats(statistics, key) for key in (lhs_slice_key, rhs_slice_key))
    visualize_statistics(left, right, lhs_slice_key, rhs_slice_key)


def display_schema(schema: schema_pb2.Schema) -> None:
    """Show the features of a schema, and its domains of words."""
    features, domains = get_schema_dataframe(schema)
    _display(features)
    if not domains.empty:
        _display(domains)


def display_anomalies(anomalies: anomalies_pb2.Anomalies) -> None:
    """Show what is not as the schema says."""
    check_message(anomalies, anomalies_pb2.Anomalies)
    rows = get_anomalies_dataframe(anomalies)
    if rows.empty:
        _display_html('<h4 style="color:green;">No anomalies found.</h4>')
    else:
        _display(rows)


def _name(statistics: Statistics, name: str | None, otherwise: str) -> str:
    check_message(statistics, Statistics)
    return name or next((one.name for one in statistics.datasets), "") or otherwise


def _choose_features(
    statistics: Statistics,
    allowed: Iterable[FeaturePath | str] | None,
    denied: Iterable[FeaturePath | str] | None,
) -> Statistics:
    if allowed is None and denied is None:
        return statistics
    names = {str(path) for path in (denied if allowed is None else allowed) or ()}
    chosen = Statistics()
    chosen.CopyFrom(statistics)
    for dataset in chosen.datasets:
        kept = [
            one for one in dataset.features if (feature_name(one) in names) == (allowed is not None)
        ]
        del dataset.features[:]
        dataset.features.extend(kept)
    return chosen


def _display_html(html: str) -> None:
    from_ipython = _find_ipython()
    from_ipython.display(from_ipython.HTML(html))


def _display(table: object) -> None:
    import pandas as pd

    with pd.option_context("display.max_colwidth", None, "display.max_rows", None):
        _find_ipython().display(table)


def _find_ipython() -> Any:
    try:
        import IPython.display
    except ImportError as error:
        raise MissingPart(
            "To show something, IPython is needed: pip install ipython. Without it, call "
            "get_statistics_html, get_schema_dataframe or get_anomalies_dataframe.",
            name="IPython",
        ) from error
    return IPython.display
