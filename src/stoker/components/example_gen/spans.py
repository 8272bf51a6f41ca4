# SPDX-License-Identifier: Apache-2.0
"""Spans: data that arrives in portions, numbered or dated. Patterns say where a span's files are.

    day-{SPAN}/v{VERSION}/train-*       {SPAN:3} is a number of three digits
    {YYYY}-{MM}-{DD}/train-*            a date is the span of its days since 1970-01-01

An ExampleGen reads one span, the newest unless told otherwise, and the newest version of it. A
query has words of its own for a span that is a day: @span_begin_timestamp, @span_end_timestamp and
@span_yyyymmdd_utc.
"""

import datetime
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stoker.any_python import fileio
from stoker.any_python.layout import is_remote
from stoker.dsl.proto.example_gen_pb2 import Input
from stoker.dsl.proto.range_config_pb2 import RangeConfig
from stoker.errors import BadData

_WORD = re.compile(r"\{(SPAN|VERSION|YYYY|MM|DD)(?::(\d+))?\}")
_DATE = ("YYYY", "MM", "DD")
_DIGITS = {"YYYY": "4", "MM": "2", "DD": "2"}
_GLOB_PART = re.compile(r"\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_FIRST_DAY = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSpan:
    """The span and version to read, and the pattern of its files for each split, as given."""

    span: int
    version: int | None
    """None where the patterns have no {VERSION}."""
    patterns: Mapping[str, str]


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    """A span in one version; `texts` are its numbers as they are written in the paths."""

    span: int
    version: int
    texts: tuple[tuple[str, str], ...]


def choose(
    input_base: str, splits: Sequence[Input.Split], range_config: RangeConfig | None
) -> ChosenSpan:
    """Find the newest span, or the one that is asked for, which all splits must have."""
    check_patterns(splits)
    check_range(splits, range_config)
    patterns = {split.name: split.pattern for split in splits}
    if not _words(splits[0].pattern):
        return ChosenSpan(span=0, version=None, patterns=patterns)
    newest = {
        name: _newest(below(input_base, pattern), range_config)
        for name, pattern in patterns.items()
    }
    if len({(found.span, found.version) for found in newest.values()}) > 1:
        told = ", ".join(
            f"{name}: span {found.span}, version {found.version}" for name, found in newest.items()
        )
        raise BadData(f"All splits need the same span and version, but the newest are {told}.")
    any_found = next(iter(newest.values()))
    return ChosenSpan(
        span=any_found.span,
        version=any_found.version if "VERSION" in _words(splits[0].pattern) else None,
        patterns={
            name: _fill_in(pattern, dict(newest[name].texts)) for name, pattern in patterns.items()
        },
    )


def choose_of_query(splits: Sequence[Input.Split], range_config: RangeConfig | None) -> ChosenSpan:
    """Queries with the one span filled in that is asked for."""
    span = 0
    if range_config is not None:
        _check_one_span(range_config)
        if not range_config.HasField("static_range"):
            raise ValueError(
                "A query has no newest span: give range_config a static_range with the same "
                "start_span_number and end_span_number, in days since 1970-01-01."
            )
        span = range_config.static_range.start_span_number
    patterns = {split.name: fill_in_query(split.pattern, span) for split in splits}
    return ChosenSpan(span=span, version=None, patterns=patterns)


def fill_in_query(query: str, span: int) -> str:
    """A query with the begin and end of a day in place of the words for them."""
    day = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=span)
    end = day + datetime.timedelta(days=1)
    query = query.replace("@span_begin_timestamp", str(int(day.timestamp())))
    query = query.replace("@span_end_timestamp", str(int(end.timestamp())))
    return query.replace("@span_yyyymmdd_utc", day.strftime("'%Y%m%d'"))


def check_patterns(splits: Sequence[Input.Split]) -> None:
    """Refuse patterns that name no span, or more than one, or not the same as the others."""
    for split in splits:
        words = _words(split.pattern)
        dated = [word for word in words if word in _DATE]
        wrong = ""
        if len(words) != len(set(words)):
            wrong = "has a word twice: leave out one"
        elif dated and len(dated) < len(_DATE):
            wrong = "needs all of {YYYY}, {MM} and {DD}"
        elif dated and "SPAN" in words:
            wrong = "has both {SPAN} and a date: a date is a span"
        elif words == ["VERSION"]:
            wrong = "has a {VERSION}, and needs a {SPAN} or a date that it is a version of"
        elif set(words) != set(_words(splits[0].pattern)):
            wrong = f"has other words than {splits[0].pattern!r}; all splits need the same"
        if wrong:
            raise ValueError(f"Correct the pattern {split.pattern!r}: it {wrong}.")


def check_range(splits: Sequence[Input.Split], range_config: RangeConfig | None) -> None:
    """Refuse a range of more than one span, or of spans that the patterns do not have."""
    if range_config is None:
        return
    _check_one_span(range_config)
    if not all(_words(split.pattern) for split in splits):
        raise ValueError(
            "range_config chooses a span, but a pattern has neither {SPAN} nor "
            f"{{YYYY}}, {{MM}} and {{DD}}: {[split.pattern for split in splits]}."
        )


def _check_one_span(range_config: RangeConfig) -> None:
    match range_config.WhichOneof("range"):
        case "static_range":
            first = range_config.static_range.start_span_number
            last = range_config.static_range.end_span_number
            wrong = "" if first == last else f"the static range {first} to {last}"
        case "rolling_range":
            rolling = range_config.rolling_range
            one = rolling.num_spans == 1 and rolling.start_span_number == 0
            wrong = "" if one else f"a rolling range of {rolling.num_spans} spans"
            if rolling.start_span_number:
                wrong += f" from {rolling.start_span_number} on"
        case _:
            wrong = "neither a static range nor a rolling range"
    if wrong:
        raise ValueError(
            f"An ExampleGen reads one span, but range_config is {wrong}. Give a static range of "
            "one span, or a rolling range with num_spans=1. For several spans, use a Resolver with "
            "SpanRangeStrategy."
        )


def _words(pattern: str) -> list[str]:
    return [match[1] for match in _WORD.finditer(pattern)]


def below(input_base: str, pattern: str) -> str:
    """The pattern below the base; the base may also be a file or a glob by itself.

    A folder or file that is there means itself, though its name may look like a glob; whether it is
    one or the other, a bucket need not be asked.
    """
    if pattern == "*" and (is_remote(input_base) or not fileio.isdir(input_base)):
        return input_base
    path = os.path.join(input_base, pattern)
    if is_remote(path) or os.path.exists(path) or not os.path.isdir(input_base):
        return path
    return os.path.join(glob.escape(input_base), pattern)


def _newest(pattern: str, range_config: RangeConfig | None) -> _Found:
    found = sorted(set(_find(pattern)))
    wanted = None
    if range_config is not None and range_config.HasField("static_range"):
        wanted = range_config.static_range.start_span_number
    fitting = [one for one in found if wanted is None or one.span == wanted]
    if not fitting:
        spans = sorted({one.span for one in found})
        there = f"there are the spans {spans}" if spans else "nothing matches"
        which = "a span" if wanted is None else f"span {wanted}"
        raise BadData(
            f"No file of {which} matches {pattern!r}: {there}. Check input_base and the pattern."
        )
    newest = fitting[-1]
    for one in fitting:
        if (one.span, one.version) == (newest.span, newest.version) and one != newest:
            raise BadData(
                f"{pattern!r} has span {one.span} twice, as {_fill_in(pattern, dict(one.texts))} "
                f"and as {_fill_in(pattern, dict(newest.texts))}. Remove one of them."
            )
    return newest


def _find(pattern: str) -> Iterator[_Found]:
    """Every span in every version that a file or folder matches."""
    expression = re.compile(_regex(pattern))
    for path in fileio.glob(_WORD.sub("*", pattern)):
        if match := expression.fullmatch(path):
            texts = match.groupdict()
            version = int(texts.get("VERSION") or 0)
            yield _Found(_span(texts, path), version, tuple(sorted(texts.items())))


def _span(texts: Mapping[str, str], path: str) -> int:
    if "SPAN" in texts:
        return int(texts["SPAN"])
    year, month, day = (int(texts[word]) for word in _DATE)
    try:
        return (datetime.date(year, month, day) - _FIRST_DAY).days
    except ValueError as error:
        raise BadData(f"{path} has no date of the calendar: {error}. Rename it.") from error


def _regex(pattern: str) -> str:
    """What finds the words of a pattern in the paths that it matches as a glob."""
    pieces, end = [], 0
    for match in _WORD.finditer(pattern):
        pieces.append(_glob_regex(pattern[end : match.start()]))
        width = match[2] or _DIGITS.get(match[1])
        digits = f"{{{width}}}" if width else "+"
        pieces.append(rf"(?P<{match[1]}>[0-9]{digits})")
        end = match.end()
    return "".join([*pieces, _glob_regex(pattern[end:])])


def _glob_regex(text: str) -> str:
    parts = []
    for part in _GLOB_PART.findall(text):
        if part in "*?":
            parts.append(f"[^/]{part if part == '*' else ''}")
        elif len(part) > 1:
            inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
            parts.append(f"[{'^' + inside[1:] if inside.startswith('!') else inside}]")
        else:
            parts.append(re.escape(part))
    return "".join(parts)


def _fill_in(pattern: str, texts: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: texts[match[1]], pattern)
