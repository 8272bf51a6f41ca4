# SPDX-License-Identifier: Apache-2.0
"""The resolver functions that TFX offers, and the operators that they are made of."""

import random
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from stoker.artifacts import Artifact
from stoker.dsl.channel import Channel
from stoker.dsl.placeholders import Absent
from stoker.dsl.resolution import DataType, OpNode, Property, ResolverOp, resolver_function

_LIST = DataType.ARTIFACT_LIST
_MAP = DataType.ARTIFACT_MULTIMAP
_LOOP = DataType.ARTIFACT_MULTIMAP_LIST
_Items = list[dict[str, list[Artifact]]]


class _ListOp(ResolverOp, arg_data_types=(_LIST,), return_data_type=_LIST):
    """An operator that takes a list and returns a list."""

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__(arg_data_types=(_LIST,), return_data_type=_LIST)


class LatestCreateTime(_ListOp):
    """The `n` newest artifacts, the newest last."""

    n = Property(type=int, default=1)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        _check_positive("n", self.n)
        return sorted(artifacts, key=lambda one: one.id)[-self.n :]


class LatestVersion(_ListOp):
    """The `n` artifacts with the highest versions, the highest last."""

    n = Property(type=int, default=1)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        _check_positive("n", self.n)
        versioned = [one for one in artifacts if "version" in (one.PROPERTIES or {})]
        return sorted(versioned, key=_order)[-self.n :]


class StaticSpanRange(_ListOp):
    """The artifacts whose spans are in a range, both ends included; below 0 is without an end."""

    start_span = Property(type=int, default=-1)
    end_span = Property(type=int, default=-1)
    keep_all_versions = Property(type=bool, default=False)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        wanted = [
            span
            for span in _group_by_span(artifacts)
            if self.start_span <= span and (self.end_span < 0 or span <= self.end_span)
        ]
        return _take_spans(artifacts, wanted, self.keep_all_versions)


class LatestSpan(_ListOp):
    """The artifacts of the `n` highest spans, the highest last."""

    n = Property(type=int, default=1)
    keep_all_versions = Property(type=bool, default=False)
    min_span = Property(type=int, default=0)
    skip_last_n = Property(type=int, default=0)
    version_sort_keys = Property(type=Sequence[str], default=())

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        spans = [span for span in sorted(_group_by_span(artifacts)) if span >= self.min_span]
        spans = spans[: len(spans) - self.skip_last_n]
        chosen = spans[-self.n :] if self.n > 0 else spans
        return _take_spans(artifacts, chosen, self.keep_all_versions, self.version_sort_keys)


class ConsecutiveSpans(_ListOp):
    """The artifacts of spans that follow each other without a gap, from the first on."""

    first_span = Property(type=int, default=-1)
    skip_last_n = Property(type=int, default=0)
    keep_all_versions = Property(type=bool, default=False)
    denylist = Property(type=Sequence[int], default=())

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        there = _group_by_span(artifacts)
        if not there:
            return []
        span = self.first_span if self.first_span >= 0 else min(there)
        while span in self.denylist:
            span += 1
        chosen, last = [], max(there) - self.skip_last_n
        while span in there and span <= last and span not in self.denylist:
            chosen.append(span)
            span += 1
        return _take_spans(artifacts, chosen, self.keep_all_versions)


class ExcludeSpans(_ListOp):
    """The artifacts whose spans are not in `denylist`."""

    denylist = Property(type=Sequence[int], default=())

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        return [one for one in artifacts if _span(one) not in self.denylist]


class AllSpans(_ListOp):
    """The artifacts of all spans, the highest last."""

    keep_all_versions = Property(type=bool, default=False)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        return _take_spans(artifacts, list(_group_by_span(artifacts)), self.keep_all_versions)


class SkipIfLessThanNSpans(_ListOp):
    """All artifacts; the step is not run if they have fewer spans than `n`."""

    n = Property(type=int, default=0)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        there = {_span(one) for one in artifacts}
        if len(there) < self.n:
            raise Absent(f"there are {len(there)} of the {self.n} spans that it needs")
        return list(artifacts)


class Shuffle(_ListOp):
    """All artifacts, in any order."""

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        return random.sample(artifacts, len(artifacts))


class Slice(_ListOp):
    """The artifacts from `start` on, and before `stop`."""

    start = Property(type=int, default=None)
    stop = Property(type=int, default=None)
    min_count = Property(type=int, default=0)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        chosen = list(artifacts[self.start : self.stop])
        if len(chosen) < self.min_count:
            raise ValueError(
                f"{self.min_count} artifacts from {self.start} to {self.stop} are needed, and "
                f"there are {len(artifacts)} in all"
            )
        return chosen


class EqualPropertyValues(_ListOp):
    """The artifacts that have this value of a property."""

    property_key = Property(type=str)
    property_value = Property(type=Any)
    is_custom_property = Property(type=bool, default=True)

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:  # noqa: D102
        def read(artifact: Artifact) -> Mapping[str, Any]:
            return artifact.custom_properties if self.is_custom_property else artifact.properties

        return [one for one in artifacts if read(one).get(self.property_key) == self.property_value]


class SlidingWindow(ResolverOp, arg_data_types=(_LIST,), return_data_type=_LOOP):
    """Every `window_size` artifacts in a row."""

    window_size = Property(type=int, default=1)
    output_key = Property(type=str, default="window")

    def apply(self, artifacts: Sequence[Artifact]) -> _Items:  # noqa: D102
        _check_positive("window_size", self.window_size)
        starts = range(len(artifacts) - self.window_size + 1)
        return [{self.output_key: list(artifacts[i : i + self.window_size])} for i in starts]


class Unnest(ResolverOp, arg_data_types=(_MAP,), return_data_type=_LOOP):
    """Each artifact of one key by itself, with those of the other keys."""

    key = Property(type=str)

    def apply(self, artifacts: Mapping[str, list[Artifact]]) -> _Items:  # noqa: D102
        return [{**artifacts, self.key: [one]} for one in artifacts.get(self.key, [])]


class PairedSpans(ResolverOp, arg_data_types=(_MAP,), return_data_type=_LOOP):
    """The artifacts of all keys that have the same span and version."""

    match_version = Property(type=bool, default=True)
    keep_all_versions = Property(type=bool, default=False)

    def apply(self, artifacts: Mapping[str, list[Artifact]]) -> _Items:  # noqa: D102
        by_key = {key: self._index(many) for key, many in artifacts.items()}
        if len(by_key) < 2:
            return []
        common = set.intersection(*map(set, by_key.values()))
        return [{key: [found[place]] for key, found in by_key.items()} for place in sorted(common)]

    def _index(self, artifacts: list[Artifact]) -> dict[tuple[int, ...], Artifact]:
        spans = list(_group_by_span(artifacts))
        chosen = _take_spans(artifacts, spans, self.keep_all_versions)
        ends = 2 if self.match_version else 1
        return {(_span(one), _version(one))[:ends]: one for one in chosen}


class SkipIfEmpty(ResolverOp, arg_data_types=(_LOOP,), return_data_type=_LOOP):
    """All inputs; the step is not run if there are none."""

    def apply(self, items: _Items) -> _Items:  # noqa: D102
        if not items:
            raise Absent("there is nothing to go through")
        return items


@resolver_function
def latest_created(artifacts: Any, n: int = 1) -> OpNode:
    """The `n` newest artifacts."""
    return LatestCreateTime(artifacts, n=n)


@resolver_function
def latest_version(artifacts: Any, n: int = 1) -> OpNode:
    """The `n` artifacts with the highest versions."""
    return LatestVersion(artifacts, n=n)


@resolver_function
def static_range(
    artifacts: Any,
    *,
    start_span_number: int = -1,
    end_span_number: int = -1,
    keep_all_versions: bool = False,
    exclude_span_numbers: Sequence[int] = (),
    min_spans: int | None = None,
) -> OpNode:
    """The artifacts whose spans are from one number to another, but for some.

    With fewer than `min_spans` of them, the step is not run; by default all are needed, where both
    ends are given.
    """
    chosen = StaticSpanRange(
        artifacts,
        start_span=start_span_number,
        end_span=end_span_number,
        keep_all_versions=keep_all_versions,
    )
    if min_spans is None and start_span_number >= 0 and end_span_number >= 0:
        wanted = set(range(start_span_number, end_span_number + 1))
        min_spans = len(wanted - set(exclude_span_numbers))
    return SkipIfLessThanNSpans(
        ExcludeSpans(chosen, denylist=tuple(exclude_span_numbers)), n=min_spans or 0
    )


@resolver_function
def rolling_range(
    artifacts: Any,
    *,
    start_span_number: int = 0,
    num_spans: int = 1,
    skip_num_recent_spans: int = 0,
    keep_all_versions: bool = False,
    exclude_span_numbers: Sequence[int] = (),
    min_spans: int | None = None,
    version_sort_keys: Sequence[str] = (),
) -> OpNode:
    """The artifacts of the highest spans, but for some.

    With fewer than `min_spans` of them, the step is not run; by default all are needed.
    """
    chosen = LatestSpan(
        artifacts,
        min_span=start_span_number,
        n=num_spans,
        skip_last_n=skip_num_recent_spans,
        keep_all_versions=keep_all_versions,
        version_sort_keys=version_sort_keys,
    )
    return SkipIfLessThanNSpans(
        ExcludeSpans(chosen, denylist=tuple(exclude_span_numbers)),
        n=num_spans if min_spans is None else min_spans,
    )


@resolver_function
def all_spans(artifacts: Any) -> OpNode:
    """The newest version of every span, the highest span last."""
    return AllSpans(artifacts)


@resolver_function
def shuffle(artifacts: Any) -> OpNode:
    """The artifacts in any order."""
    return Shuffle(artifacts)


@resolver_function
def filter_property_equal(artifacts: Any, *, key: str, value: Any) -> OpNode:
    """The artifacts that have this value of a property that their type declares."""
    return EqualPropertyValues(
        artifacts, property_key=key, property_value=value, is_custom_property=False
    )


@resolver_function
def filter_custom_property_equal(artifacts: Any, *, key: str, value: Any) -> OpNode:
    """The artifacts that have this value of a custom property."""
    return EqualPropertyValues(artifacts, property_key=key, property_value=value)


@resolver_function
def _slice(artifacts: Any, **properties: int | None) -> OpNode:
    return Slice(
        artifacts, **{key: value for key, value in properties.items() if value is not None}
    )


def pick(channel: Channel, i: int, /) -> Any:
    """The artifact number `i` of a channel; negative numbers count from the end."""
    return _slice(channel, start=i, stop=(i + 1) or None, min_count=1)


def slice(
    channel: Channel,
    /,
    start: int | None = None,
    stop: int | None = None,
    min_count: int | None = None,
) -> Any:
    """The artifacts of a channel from `start` on, and before `stop`."""
    return _slice(channel, start=start, stop=stop, min_count=min_count)


@resolver_function(unwrap_dict_key="window")
def sliding_window(channel: Any, window_size: int) -> OpNode:
    """Every `window_size` artifacts in a row, to go through with ForEach."""
    return SlidingWindow(channel, window_size=window_size)


@resolver_function(unwrap_dict_key="window")
def sequential_rolling_range(
    artifacts: Any,
    *,
    start_span_number: int | None = None,
    num_spans: int = 1,
    skip_num_recent_spans: int = 0,
    keep_all_versions: bool = False,
    exclude_span_numbers: Sequence[int] = (),
) -> OpNode:
    """Every `num_spans` spans that follow each other, to go through with ForEach."""
    chosen = ConsecutiveSpans(
        artifacts,
        first_span=-1 if start_span_number is None else start_span_number,
        skip_last_n=skip_num_recent_spans,
        keep_all_versions=keep_all_versions,
        denylist=tuple(exclude_span_numbers),
    )
    return SlidingWindow(chosen, window_size=num_spans)


@sliding_window.output_type_inferrer
@sequential_rolling_range.output_type_inferrer
def _infer_window_type(channel: Channel, *_: Any, **__: Any) -> dict[str, type[Artifact]]:
    return {"window": channel.type}


@resolver_function
def paired_spans(
    artifacts: Any, *, match_version: bool = True, keep_all_versions: bool = False
) -> OpNode:
    """The artifacts of several channels that have the same span, to go through with ForEach."""
    return PairedSpans(artifacts, match_version=match_version, keep_all_versions=keep_all_versions)


def _span(artifact: Artifact) -> int:
    return int(getattr(artifact, "span", 0))


def _version(artifact: Artifact) -> int:
    return int(getattr(artifact, "version", 0))


def _order(artifact: Artifact) -> tuple[int, int, int]:
    return _span(artifact), _version(artifact), artifact.id


def _group_by_span(artifacts: Sequence[Artifact]) -> dict[int, list[Artifact]]:
    """The artifacts that have spans and versions; others have no place in a range of spans."""
    groups: dict[int, list[Artifact]] = {}
    for artifact in sorted(artifacts, key=_order):
        if {"span", "version"} <= set(artifact.PROPERTIES or {}):
            groups.setdefault(_span(artifact), []).append(artifact)
    return groups


def _take_spans(
    artifacts: Sequence[Artifact],
    spans: Sequence[int],
    keep_all_versions: bool,
    sort_keys: Sequence[str] = (),
) -> list[Artifact]:
    """The artifacts of these spans in their order: the highest version of each, or all of them."""

    def order(artifact: Artifact) -> Any:
        if not sort_keys:
            return _order(artifact)
        return tuple(reduce(getattr, key.split("."), artifact) for key in sort_keys)

    groups = _group_by_span(artifacts)
    versions = [sorted(groups[span], key=order) for span in sorted(spans)]
    return [one for group in versions for one in (group if keep_all_versions else group[-1:])]


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
