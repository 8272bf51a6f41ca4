# SPDX-License-Identifier: Apache-2.0
"""What is asked of a table of runs: words, conditions, an order, and which columns are shown.

    taxi accuracy > 0.9 state = failed Trainer.train_args.num_steps >= 100

Words are looked for in ids, names, states, tags and notes; a condition compares a column.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PER_PAGE = 50
FACTS = ("started", "duration", "state", "pipeline", "steps", "cached", "tags", "note")
"""Columns that every run has."""
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_CONDITION = re.compile(
    r"""(?P<name>"[^"]+"|[^\s<>=!"]+)\s*(?P<sign>>=|<=|!=|==|[<>=])\s*(?P<value>"[^"]*"|[^\s]+)"""
)
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>ms|s|m|min|h|d)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A column, compared with a value."""

    column: str
    sign: str
    value: str

    def holds(self, found: Any) -> bool:
        """Whether a value of the column fits; a run that has none never does."""
        if found is None or found == "":
            return False
        compare = _SIGNS[self.sign]
        wanted, number = _as_number(self.value), _as_number(found)
        if wanted is not None and number is not None:
            return compare(number, wanted)
        return compare(str(found).lower(), self.value.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs of many, in which order, and what is shown of them."""

    text: str = ""
    words: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    sort: str = "started"
    descending: bool = True
    page: int = 1
    columns: tuple[str, ...] = ()
    """Metrics and parameters that are shown besides; none stands for a choice of ours."""

    @classmethod
    def parse(cls, asked: Mapping[str, str], columns: Iterable[str] = ()) -> "RunQuery":
        """The query in the parts of a URL; what means nothing is left out."""
        text = asked.get("q", "").strip()[:500]
        found = list(_CONDITION.finditer(text))
        sort = asked.get("sort", "-started") or "-started"
        page = asked.get("page", "1")
        return cls(
            text=text,
            words=tuple(word.strip('"').lower() for word in _CONDITION.sub(" ", text).split()),
            conditions=tuple(
                Condition(
                    column=one["name"].strip('"'),
                    sign="=" if one["sign"] == "==" else one["sign"],
                    value=one["value"].strip('"'),
                )
                for one in found
            ),
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            page=max(1, int(page)) if page.isdecimal() and len(page) < 9 else 1,
            columns=tuple(dict.fromkeys(one for one in columns if one))[:20],
        )

    @property
    def is_plain(self) -> bool:
        """Whether it asks for the newest runs, whatever they are."""
        is_newest_first = self.sort == "started" and self.descending
        return not self.words and not self.conditions and is_newest_first

    @property
    def asked_columns(self) -> list[str]:
        """The columns whose values decide which runs are shown, and where."""
        return list(dict.fromkeys([*(one.column for one in self.conditions), self.sort]))


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    text = str(value)
    if told := _DURATION.fullmatch(text):
        return float(told["number"]) * _SECONDS[told["unit"]]
    try:
        return float(text)
    except ValueError:
        return None


def flatten(name: str, value: Any, depth: int = 3) -> dict[str, Any]:
    """A parameter as plain values: what is in a dict, or in JSON text, has a dotted name."""
    if isinstance(value, str) and value[:1] == "{" and len(value) < 20_000:
        try:
            value = json.loads(value)
        except ValueError:
            return {name: value}
    if isinstance(value, dict) and value and depth:
        flat: dict[str, Any] = {}
        for key, inner in value.items():
            flat |= flatten(f"{name}.{key}", inner, depth - 1)
        return flat
    return {name: value}
