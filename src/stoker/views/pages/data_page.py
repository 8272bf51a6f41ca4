# SPDX-License-Identifier: Apache-2.0
"""The data of a store over time: statistics of its spans, how far two are apart, anomalies."""

import contextlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.any_python.layout import only_file
from stoker.artifacts import ExampleAnomalies, ExampleStatistics
from stoker.errors import StokerError
from stoker.metadata.neighbours import find_makers
from stoker.metadata.records import Execution
from stoker.metadata.store import Store
from stoker.statistics.anomalies import describe_anomalies, read_anomalies
from stoker.statistics.drift import infinity_norm, jensen_shannon_divergence
from stoker.statistics.messages import Statistics, Stats, count_examples, features_of
from stoker.views.data_tables import describe_absence, read_split_statistics
from stoker.views.line_charts import draw_lines
from stoker.views.statistics_view import compare_statistics

_NEWEST = 20
_MOST_CHARTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """The statistics of one span of data."""

    artifact: ExampleStatistics
    maker: Execution | None
    splits: Mapping[str, Statistics]

    @property
    def name(self) -> str:
        """A span's number, where it has one."""
        span = self.artifact.properties.get("span")
        return f"span {span}" if span else f"{self.artifact.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far a feature of one data set is from that of another."""

    feature: str
    distance: float | None
    measure: str
    missing: tuple[str, str]
    anomalies: Sequence[str] = ()


def make_data_values(store: Store, asked: Mapping[str, str]) -> dict[str, Any]:
    """All that is shown of the data: of the newest spans, of a split, of two of them."""
    sets = _read_sets(store)
    sizes = Counter(map(_group, sets))
    groups, group = sorted(sizes), asked.get("step", "")
    if group not in groups:  # of equally many, those that were made first are of the data itself
        group = next((name for name, _ in sizes.most_common(1)), "")
    sets = [one for one in sets if _group(one) == group]
    splits = list(dict.fromkeys(split for one in sets for split in one.splits))
    split = asked.get("split", "")
    split = split if split in splits else next(iter(splits), "")
    anomalies = _read_anomalies(store)
    values: dict[str, Any] = {
        "sets": list(reversed(sets)),
        "groups": groups,
        "group": group,
        "splits": splits,
        "split": split,
        "counts": {
            one.artifact.id: {s: count_examples(found) for s, found in one.splits.items()}
            for one in sets
        },
        "anomalies": anomalies,
        "trends": _draw_trends(sets, split),
        "pair": None,
        "drifts": [],
        "overlay": "",
    }
    pair = _choose_pair(sets, asked)
    if pair and all(split in one.splits for one in pair):
        before, after = pair
        values["pair"] = pair
        values["drifts"] = measure_drift(before.splits[split], after.splits[split], anomalies)
        values["overlay"] = compare_statistics(
            {
                f"{before.name}, {split}": before.splits[split],
                f"{after.name}, {split}": after.splits[split],
            }
        )
    return values


def _group(one: DataSet) -> str:
    """The step and the output that statistics are from: only such are compared over time."""
    key = os.path.basename(os.path.dirname(one.artifact.uri))
    return f"{one.maker.node_id}.{key}" if one.maker else key


def _read_sets(store: Store) -> list[DataSet]:
    """The newest statistics, oldest first; what was cleaned meanwhile is left out."""
    found = store.artifacts(type_name=str(ExampleStatistics.TYPE_NAME), newest=_NEWEST)
    makers = store.ask(lambda connection: find_makers(connection, [one.id for one in found]))
    sets = []
    for artifact in found:
        with contextlib.suppress(OSError, ValueError, StokerError):
            assert isinstance(artifact, ExampleStatistics)
            splits = read_split_statistics(artifact)
            sets.append(DataSet(artifact=artifact, maker=makers.get(artifact.id), splits=splits))
    return sets


def _choose_pair(
    sets: Sequence[DataSet], asked: Mapping[str, str]
) -> tuple[DataSet, DataSet] | None:
    """The two that were asked for, or the last two."""
    by_id = {str(one.artifact.id): one for one in sets}
    if asked.get("a") in by_id and asked.get("b") in by_id:
        return by_id[asked["a"]], by_id[asked["b"]]
    return (sets[-2], sets[-1]) if len(sets) > 1 else None


def measure_drift(
    before: Statistics, after: Statistics, anomalies: Sequence[tuple[Any, Any]]
) -> list[Drift]:
    """How far each feature has moved, the farthest first."""
    ours, theirs = dict(features_of(after)), dict(features_of(before))
    told: dict[str, list[str]] = {}
    for _, rows in anomalies[:1]:
        for _, feature, short, _ in rows:
            told.setdefault(feature, []).append(short)
    found = []
    for name in dict.fromkeys([*theirs, *ours]):
        one, other = ours.get(name), theirs.get(name)
        missing = (_absence(other), _absence(one))
        if one is None or other is None:
            word = "is gone" if one is None else "is new"
            found.append(Drift(feature=name, distance=None, measure=word, missing=missing))
            continue
        distance, measure = _measure(one, other)
        found.append(
            Drift(
                feature=name,
                distance=distance,
                measure=measure,
                missing=missing,
                anomalies=told.get(name, ()),
            )
        )
    return sorted(found, key=lambda one: -1.0 if one.distance is None else -one.distance)


def _absence(stats: Stats | None) -> str:
    if stats is None:
        return ""
    return describe_absence(getattr(stats, stats.WhichOneof("stats")).common_stats)[0]


def _measure(one: Stats, other: Stats) -> tuple[float | None, str]:
    if one.WhichOneof("stats") != other.WhichOneof("stats"):
        return None, "has another type"
    if one.HasField("string_stats"):
        return infinity_norm(one, other)[0], "L-infinity"
    found = jensen_shannon_divergence(one, other)
    return (found[0] if found else None), "Jensen-Shannon"


def _read_anomalies(store: Store) -> list[tuple[ExampleAnomalies, list[tuple[str, str, str, str]]]]:
    """What is wrong with the newest data: split, feature, what, and more about it."""
    found = store.artifacts(type_name=str(ExampleAnomalies.TYPE_NAME), newest=_NEWEST)
    told = []
    for artifact in reversed(found):
        assert isinstance(artifact, ExampleAnomalies)
        rows: list[tuple[str, str, str, str]] = []
        with contextlib.suppress(OSError, ValueError, StokerError):
            folders = {one: artifact.path(split=one) for one in artifact.splits}
            for split, folder in (folders or {"all": artifact.uri}).items():
                for feature, short, text in describe_anomalies(read_anomalies(only_file(folder))):
                    rows.append((split, feature, short, text))
            told.append((artifact, rows))
    return told


def _draw_trends(sets: Sequence[DataSet], split: str) -> dict[str, str]:
    """How features went from span to span: means of numbers, shares of the first word."""
    if len(sets) < 2:
        return {}
    lines: dict[str, list[tuple[float, float]]] = {}
    for number, one in enumerate(sets):
        for name, stats in features_of(one.splits.get(split, Statistics())):
            if stats.HasField("num_stats"):
                lines.setdefault(f"{name}: mean", []).append((number, stats.num_stats.mean))
            else:
                common = stats.string_stats.common_stats.tot_num_values
                most = stats.string_stats.top_values[:1]
                share = most[0].frequency / common if most and common else 0.0
                lines.setdefault(f"{name}: share of the most frequent", []).append((number, share))
    chosen = sorted(lines, key=lambda name: -_spread(lines[name]))[:_MOST_CHARTS]
    return {
        name: draw_lines({name: lines[name]}, {name: 0}, across="set", label=name)
        for name in chosen
    }


def _spread(points: Sequence[tuple[float, float]]) -> float:
    """How much a line moves, against how high it is."""
    values = [value for _, value in points]
    return (max(values) - min(values)) / (max(map(abs, values)) or 1.0)
