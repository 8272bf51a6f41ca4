# SPDX-License-Identifier: Apache-2.0
"""What values look like: natural text, dates and times, or pictures; the rules are TFDV's.

A feature of at least 100 values has a domain if four in five of them look so.
"""

import abc
import calendar
import collections
import itertools
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.statistics.messages import DOMAIN_INFO

_MIN_VALUES = 100
_MIN_SHARE = 0.8


class SemanticDomains:
    """Looks at the values of one feature, batch by batch."""

    def __init__(self) -> None:
        self._detectors = [_Pictures(), _NaturalText(), _Times()]

    def add(self, values: pa.Array) -> None:
        """Take in values, without nulls."""
        for detector in self._detectors:
            detector.add(values)

    def merge(self, other: "SemanticDomains") -> None:
        """Take in what another has seen."""
        for detector, more in zip(self._detectors, other._detectors, strict=True):
            detector.merge(more)

    def describe(self, stats: statistics_pb2.FeatureNameStatistics) -> None:
        """Add what was found to the statistics of the feature."""
        for detector in self._detectors:
            if detector.num_values >= _MIN_VALUES and detector.share >= _MIN_SHARE:
                detector.describe(stats)


class _Detector(abc.ABC):
    """Counts the values that look like one thing; `spoiled` if one of them rules it out."""

    def __init__(self) -> None:
        self.num_values = 0
        self.num_alike = 0
        self.spoiled = False
        self.formats: collections.Counter[str | int] = collections.Counter()

    def merge(self, other: "_Detector") -> None:
        self.num_values += other.num_values
        self.num_alike += other.num_alike
        self.spoiled |= other.spoiled
        self.formats.update(other.formats)

    @property
    def share(self) -> float:
        return 0.0 if self.spoiled else self.num_alike / self.num_values

    @abc.abstractmethod
    def add(self, values: pa.Array) -> None: ...

    @abc.abstractmethod
    def describe(self, stats: statistics_pb2.FeatureNameStatistics) -> None: ...


class _NaturalText(_Detector):
    """A few words of a usual length; the first 100 of each 1,000 values are looked at."""

    def add(self, values: pa.Array) -> None:
        if not _is_binary(values):
            self.spoiled = True
            return
        for start in range(0, len(values), 1000):
            words = _decode(values.slice(start, min(100, len(values) - start)))
            if words is None:
                self.spoiled = True
                return
            self.num_values += len(words)
            self.num_alike += sum(map(_is_natural, words))

    def describe(self, stats: statistics_pb2.FeatureNameStatistics) -> None:
        stats.custom_stats.add(name=DOMAIN_INFO, str="natural_language_domain {}")
        stats.custom_stats.add(name="natural_language_match_rate", num=self.share)


def _is_natural(text: str) -> bool:
    words = text[:100].split()
    return len(words) >= 3 and 2.5 <= sum(map(len, words)) / len(words) <= 8


class _Times(_Detector):
    """Dates and times as text, or as an integer since 1970."""

    @property
    def share(self) -> float:
        if self.spoiled or not self.formats:
            return 0.0
        return self.formats.most_common(1)[0][1] / self.num_values

    def add(self, values: pa.Array) -> None:
        if pa.types.is_integer(values.type):
            self._add_integers(np.asarray(values))
        elif _is_binary(values):
            self._add_words(values)
        else:
            self.spoiled = True

    def _add_integers(self, numbers: np.ndarray) -> None:
        self.num_values += len(numbers)
        for unit, per_day in _UNITS.items():
            begin, end = _FIRST_DAY * per_day, _LAST_DAY * per_day
            if found := int(((numbers >= begin) & (numbers < end)).sum()):
                self.formats[unit] += found

    def _add_words(self, values: pa.Array) -> None:
        words = None if self.spoiled else _decode(values)
        if words is None or not all(words):
            self.spoiled = True
            return
        self.num_values += len(words)
        for word, count in collections.Counter(words).items():
            for name, pattern in _list_formats():
                if pattern.match(word):
                    self.formats[name] += count

    def describe(self, stats: statistics_pb2.FeatureNameStatistics) -> None:
        found = self.formats.most_common(1)[0][0]
        said = f"string_format: '{found}'" if isinstance(found, str) else f"integer_format: {found}"
        stats.custom_stats.add(name=DOMAIN_INFO, str=f"time_domain {{{said}}}")
        stats.custom_stats.add(name="time_match_ratio", num=self.share)


_FIRST_DAY, _LAST_DAY = 7305, 21915  # from 1990 until 2030
_UNITS = {
    schema_pb2.TimeDomain.UNIX_DAYS: 1,
    schema_pb2.TimeDomain.UNIX_SECONDS: 86_400,
    schema_pb2.TimeDomain.UNIX_MILLISECONDS: 86_400 * 10**3,
    schema_pb2.TimeDomain.UNIX_MICROSECONDS: 86_400 * 10**6,
    schema_pb2.TimeDomain.UNIX_NANOSECONDS: 86_400 * 10**9,
}
_DIRECTIVES = {
    "%a": "|".join(calendar.day_abbr),
    "%b": "|".join(calendar.month_abbr[1:]),
    "%B": "|".join(calendar.month_name[1:]),
    "%f": "[0-9]{1,6}",
    "%d": r"3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]",
    "%H": r"2[0-3]|[0-1]\d|\d",
    "%y": r"\d\d",
    "%Y": r"\d\d\d\d",
    "%m": "1[0-2]|0[1-9]|[1-9]",
    "%M": r"[0-5]\d|\d",
    "%S": r"60[0-1]|[0-5]\d|\d",
}
_ORDERS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%y-%m-%d", "%y/%m/%d"),
    *("%m-%d-%Y", "%m/%d/%Y", "%m%d%Y", "%m-%d-%y", "%m/%d/%y"),
    *("%d-%m-%Y", "%d/%m/%Y", "%d%m%Y", "%d-%B-%Y", "%d-%m-%y", "%d/%m/%y", "%d-%B-%y"),
)
_CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_patterns: list[tuple[str, re.Pattern[str]]] = []


def _list_formats() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Every format of dates and times, and what is written so; compiled when first asked for."""
    if not _patterns:
        both = (
            f"{day}{between}{clock}"
            for day, clock, between in itertools.product(_ORDERS, _CLOCKS, "T ")
        )
        for name in (*_ORDERS, *_CLOCKS, "%a %b %d %H:%M:%S %Y", *both):
            text = re.sub("%[a-zA-Z]", lambda one: f"(?:{_DIRECTIVES[one.group()]})", name)
            _patterns.append((name, re.compile(f"^{text}$")))
    return _patterns


class _Pictures(_Detector):
    """Bytes that begin as those of a picture do."""

    def add(self, values: pa.Array) -> None:
        if not _is_binary(values):
            self.spoiled = True
            return
        self.num_values += len(values)
        self.formats.update(map(_name_picture, values.cast(pa.large_binary()).to_pylist()))
        self.num_alike = self.num_values - self.formats[_NO_PICTURE]

    def describe(self, stats: statistics_pb2.FeatureNameStatistics) -> None:
        stats.custom_stats.add(name=DOMAIN_INFO, str="image_domain {}")
        ranks = stats.custom_stats.add(name="image_format_histogram").rank_histogram
        for name, count in sorted(self.formats.items()):
            if count:
                ranks.buckets.add(label=name, sample_count=count)


_NO_PICTURE = "UNKNOWN"
_PICTURES = {"bmp": b"BM", "gif": b"GIF8", "jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n"}


def _name_picture(value: bytes) -> str:
    return next((name for name, start in _PICTURES.items() if value.startswith(start)), _NO_PICTURE)


def _is_binary(values: pa.Array) -> bool:
    kind = values.type
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _decode(values: pa.Array) -> list[str] | None:
    """Words as text; None if one of them is not."""
    try:
        return [str(word) for word in values.cast(pa.large_string()).to_pylist()]
    except pa.ArrowInvalid:
        return None
