# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's `filter_query` becomes SQL: a small parser of the WHERE clauses that it takes.

    type = "Model" AND state = LIVE
    custom_properties.accuracy.double_value > 0.9 OR name LIKE 'best%'
    contexts_run.type = "pipeline_run" AND contexts_run.name = "2024-05-01"

What follows a prefix (`contexts_`, `events_`, …) is a name for one neighbour: two conditions on
`contexts_run` are about the same context.
"""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, false, not_, null, or_, select, true

from stoker.dsl.proto import metadata_store_pb2 as pb
from stoker.metadata import schema as db
from stoker.stand_ins.mlmd.errors import InvalidArgumentError
from stoker.stand_ins.mlmd.nodes import ARTIFACT, CONTEXT, EXECUTION, NodeKind

_TOKEN = re.compile(
    r"""\s*(?: (?P<number>-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)
             | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
             | (?P<path>(?:[A-Za-z_]\w*|`[^`]+`)(?:\.(?:[\w-]+|`[^`]+`))*)
             | (?P<sign><=|>=|!=|<>|=|<|>|\(|\)|,) )""",
    re.VERBOSE,
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: dict[str, Any] = {"TRUE": true(), "FALSE": false(), "NULL": null()}
_TIMES = ("create_time_since_epoch", "last_update_time_since_epoch")
_VALUES = ("int_value", "double_value", "string_value", "bool_value")
_ENUMS = {
    "state": pb.Artifact.State,
    "last_known_state": pb.Execution.State,
    "event": pb.Event.Type,
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def word(self) -> str:
        """A keyword, whatever its case; nothing for other tokens."""
        return self.text.upper() if self.kind == "path" else ""


def find_ids(kind: NodeKind, query: str) -> Select[int]:
    """The ids of the nodes that a filter query is true for."""
    parser = _Parser(kind, query)
    condition = parser.parse()
    found = select(kind.table.c.id).distinct()
    if parser.joins:
        source: Any = kind.table
        for table, on in parser.joins.values():
            source = source.outerjoin(table, on)
        found = found.select_from(source)
    return found.where(condition)


class _Parser:
    """Recursive descent: or, and, not, then one comparison."""

    def __init__(self, kind: NodeKind, query: str) -> None:
        self._kind = kind
        self._query = query
        self._tokens = list(self._split())
        self.joins: dict[str, tuple[Any, Any]] = {}

    def parse(self) -> ColumnElement[bool]:
        condition = self._parse_or()
        if self._tokens:
            raise self._refuse(f"{self._tokens[0].text!r} is not expected")
        return condition

    def _split(self) -> Iterator[_Token]:
        position, end = 0, len(self._query.rstrip())
        while position < end:
            found = _TOKEN.match(self._query, position)
            if not found or not found.lastgroup:
                raise self._refuse(f"{self._query[position : position + 20]!r} cannot be read")
            yield _Token(found.lastgroup, found[found.lastgroup])
            position = found.end()

    def _parse_or(self) -> ColumnElement[bool]:
        parts = [self._parse_and()]
        while self._accept("OR"):
            parts.append(self._parse_and())
        return or_(*parts)

    def _parse_and(self) -> ColumnElement[bool]:
        parts = [self._parse_not()]
        while self._accept("AND"):
            parts.append(self._parse_not())
        return and_(*parts)

    def _parse_not(self) -> ColumnElement[bool]:
        if self._accept("NOT"):
            return not_(self._parse_not())
        if self._accept("("):
            condition = self._parse_or()
            self._expect(")")
            return condition
        return self._parse_comparison()

    def _parse_comparison(self) -> ColumnElement[bool]:
        token = self._next()
        if token.kind != "path":
            raise self._refuse(f"{token.text!r} is not a field")
        column, enum = self._find_column(token.text)
        condition: ColumnElement[bool]
        is_null = self._accept("IS")
        negated = self._accept("NOT")
        if is_null:
            self._expect("NULL")
            condition = column.is_(None)
        elif self._accept("IN"):
            condition = column.in_(self._parse_list(enum))
        elif self._accept("LIKE"):
            condition = column.like(self._parse_value(enum))
        elif not negated and (sign := self._next()).text in _COMPARE:
            condition = _COMPARE[sign.text](column, self._parse_value(enum))
        else:
            raise self._refuse(f"no comparison follows {token.text!r}")
        return not_(condition) if negated else condition

    def _parse_list(self, enum: Any) -> list[Any]:
        self._expect("(")
        values = [self._parse_value(enum)]
        while self._accept(","):
            values.append(self._parse_value(enum))
        self._expect(")")
        return values

    def _parse_value(self, enum: Any) -> Any:
        token = self._next()
        if token.kind == "number":
            return float(token.text) if re.search(r"[.eE]", token.text) else int(token.text)
        if token.kind == "text":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1])
        if token.word in _CONSTANTS:
            return _CONSTANTS[token.word]
        if enum and token.text in enum.keys():  # noqa: SIM118 - a wrapper of an enum, not a dict
            return enum.Value(token.text)
        raise self._refuse(f"{token.text!r} is not a value")

    # Fields

    def _find_column(self, path: str) -> tuple[Any, Any]:
        """The column of a field, and the enum that names its values."""
        first, *rest = (part.strip("`") for part in re.findall(r"`[^`]+`|[^.]+", path))
        if not rest:
            return self._find_field(self._kind, self._kind.table, first, path)
        if first in ("properties", "custom_properties") and len(rest) == 2 and rest[1] in _VALUES:
            return self._join_property(first == "custom_properties", rest[0]).c[rest[1]], None
        prefix = next((name for name in _NEIGHBOURS if first.startswith(name)), None)
        neighbour = _NEIGHBOURS[prefix].get(self._kind.name) if prefix else None
        if neighbour is None or len(rest) != 1:
            raise self._refuse(f"{path!r} is not a field of {self._kind.name}s")
        table = self._join(first, lambda: neighbour(self._kind.table))
        if prefix == "events_":
            if rest[0] not in ("artifact_id", "execution_id", "type", "milliseconds_since_epoch"):
                raise self._refuse(f"{path!r} is not a field of events")
            return table.c[rest[0]], _ENUMS["event"] if rest[0] == "type" else None
        kind = {"artifacts_": ARTIFACT, "executions_": EXECUTION}.get(prefix or "", CONTEXT)
        return self._find_field(kind, table, rest[0], path)

    def _find_field(self, kind: NodeKind, table: Any, name: str, path: str) -> tuple[Any, Any]:
        if name == "type":
            types = select(db.type_.c.name).where(db.type_.c.id == table.c.type_id)
            return types.scalar_subquery(), None
        if name not in ("id", "type_id", "name", *kind.fields, *_TIMES):
            raise self._refuse(f"{path!r} is not a field of {kind.name}s")
        return table.c[name], _ENUMS.get(name)

    def _join_property(self, custom: bool, name: str) -> Any:
        def join() -> tuple[Any, Any]:
            table = self._kind.properties.alias()
            named = and_(table.c.name == name, table.c.is_custom_property == custom)
            return table, and_(table.c[0] == self._kind.table.c.id, named)

        return self._join(f"{custom} {name}", join)

    def _join(self, key: str, make: Callable[[], tuple[Any, Any]]) -> Any:
        if key not in self.joins:
            self.joins[key] = make()
        return self.joins[key][0]

    # Tokens

    def _next(self) -> _Token:
        if not self._tokens:
            raise self._refuse("it ends too early")
        return self._tokens.pop(0)

    def _accept(self, text: str) -> bool:
        if self._tokens and text in (self._tokens[0].text, self._tokens[0].word):
            del self._tokens[0]
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._refuse(f"{text} is missing")

    def _refuse(self, why: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"The filter query {self._query!r} is not understood: {why}. Write it like "
            "type = 'Model' AND custom_properties.rows.int_value > 9."
        )


# Neighbours of a node: the table to join, and on what


def _through(link: Any, here: str, there: str, table: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A neighbour that a table of pairs leads to."""

    def make(node: Any) -> tuple[Any, Any]:
        neighbour = table.alias()
        linked = select(link.c[there]).where(link.c[here] == node.c.id).correlate(node)
        return neighbour, neighbour.c.id.in_(linked)

    return make


def _events_by(column: str) -> Callable[[Any], tuple[Any, Any]]:
    def make(node: Any) -> tuple[Any, Any]:
        event = db.event.alias()
        return event, event.c[column] == node.c.id

    return make


_NEIGHBOURS: dict[str, dict[str, Callable[[Any], tuple[Any, Any]]]] = {
    "contexts_": {
        "artifact": _through(db.attribution, "artifact_id", "context_id", db.context),
        "execution": _through(db.association, "execution_id", "context_id", db.context),
    },
    "parent_contexts_": {
        "context": _through(db.parent_context, "context_id", "parent_context_id", db.context)
    },
    "child_contexts_": {
        "context": _through(db.parent_context, "parent_context_id", "context_id", db.context)
    },
    "artifacts_": {"context": _through(db.attribution, "context_id", "artifact_id", db.artifact)},
    "executions_": {
        "context": _through(db.association, "context_id", "execution_id", db.execution)
    },
    "events_": {"artifact": _events_by("artifact_id"), "execution": _events_by("execution_id")},
}
