# SPDX-License-Identifier: Apache-2.0
"""The rows of a Presto query as Arrow record batches, by Presto's own client."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import prestodb
import pyarrow as pa

from stoker.errors import BadData

_BATCH_ROWS = 1 << 12
_CONVERSIONS: Mapping[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "integer", "bigint"), (pa.int64(), int)),
    **dict.fromkeys(("real", "double", "decimal"), (pa.float64(), float)),
    **dict.fromkeys(("varchar", "char"), (pa.string(), str)),
    "timestamp": (pa.int64(), lambda text: int(datetime.datetime.fromisoformat(text).timestamp())),
}


def read_rows(query: str, connection: Mapping[str, Any]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of rows, each with what to call its place; `connection` is what prestodb takes."""
    known = dict(connection)
    if auth := known.pop("basic_auth", None):
        known["auth"] = prestodb.auth.BasicAuthentication(auth["username"], auth["password"])
    cursor = prestodb.dbapi.connect(**known).cursor()
    try:
        cursor.execute(query)
        while rows := cursor.fetchmany(_BATCH_ROWS):
            yield "the query's result", _make_batch(rows, cursor.description)
    except (prestodb.exceptions.PrestoError, OSError) as error:
        raise BadData(
            f"Presto refused the query {query!r:.200}: {error}. Correct the query."
        ) from error


def _make_batch(rows: Sequence[Sequence[Any]], description: Sequence[Any]) -> pa.RecordBatch:
    columns = {}
    for index, (name, type_name, *_) in enumerate(description):
        bare = type_name.partition("(")[0].lower()
        if bare not in _CONVERSIONS:
            raise BadData(
                f"The query's column {name!r} is a {type_name}. An example holds integers, floats "
                "and text: CAST it in the query."
            )
        kind, convert = _CONVERSIONS[bare]
        values = [None if row[index] is None else convert(row[index]) for row in rows]
        columns[name] = pa.array(values, kind)
    return pa.RecordBatch.from_pydict(columns)
