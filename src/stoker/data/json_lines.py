# SPDX-License-Identifier: Apache-2.0
"""Files with a JSON object in each line to Arrow record batches of features.

A value is a number, text, true or false (which are 1 and 0), or a list of these; null, an empty
list and a missing name all mean that there is none. Since the last line may change an integer to a
float, files are read twice: once to learn the types, once for the values.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from stoker.data.arrow_features import as_feature
from stoker.data.input_files import UNREADABLE, open_any
from stoker.errors import BadData

_BLOCK_BYTES = 4 << 20
_BOM = b"\xef\xbb\xbf"
_MAX_DEPTH = 100
_TOO_DEEP = f"lists and objects are nested more than {_MAX_DEPTH} deep"
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NAMES = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}


def scan(files: Sequence[str]) -> pa.Schema:
    """Read the files once; the type that each name has in all lines of all files."""
    found: dict[str, pa.DataType] = {}
    num_rows = 0
    for path, lines in read_lines(files):
        try:
            _check_depth(lines)
            table = _parse(lines)
            for field, column in zip(table.schema, table.columns, strict=True):
                found[field.name] = _widen_type(found.get(field.name, pa.null()), field.type)
                if pa.types.is_list(field.type) and pc.list_flatten(column).null_count:
                    raise _Differing("a null inside a list")
                if _has_large(column) and _has_too_large(lines):
                    raise _Differing("a number that is too large")
        except (pa.ArrowInvalid, _Differing) as error:
            raise BadData(
                _diagnose(files, path) or f"{path}: {error}. Correct the file."
            ) from error
        num_rows += table.num_rows
    if not num_rows:
        raise BadData(
            f"{', '.join(files)}: there is no line with a JSON object."
            " Check the file, and the pattern."
        )
    return pa.schema(list(found.items()))


def read_lines(files: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Some megabytes of whole lines at a time, each with their file."""
    for path in files:
        offset = 0
        try:
            with open_any(path) as file:
                for lines in _blocks(file):
                    yield path, lines
                    offset += len(lines) + 1
        except UNREADABLE as error:
            raise BadData(
                f"{path} cannot be read beyond byte {offset} (uncompressed): {error}. "
                "Copy it here again."
            ) from error


def columns_of(lines: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Every name that was found as a column of lists; null where a line has no value for it."""
    (batch,) = _parse(lines, schema).combine_chunks().to_batches()
    columns = [as_feature(column, name) for name, column in zip(schema.names, batch, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema.names)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    rest = file.read(len(_BOM)).removeprefix(_BOM)
    while chunk := file.read(max(_BLOCK_BYTES, len(rest))):
        lines, end, begun = (rest + chunk).rpartition(b"\n")
        if end:
            yield lines
        rest = begun
    if rest.strip():
        yield rest


def _parse(lines: bytes, schema: pa.Schema | None = None) -> pa.Table:
    return arrow_json.read_json(
        pa.BufferReader(lines),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema),
    )


def _check_depth(lines: bytes) -> None:
    """Refuse what is nested so deep that Arrow's parser would run out of stack."""
    letters = np.frombuffer(lines, np.uint8)
    opening = np.flatnonzero((letters == ord("[")) | (letters == ord("{")))
    line_ends = np.flatnonzero(letters == ord("\n"))
    if np.bincount(np.searchsorted(line_ends, opening)).max(initial=0) <= _MAX_DEPTH:
        return
    for line in lines.split(b"\n"):
        if _measure_depth(line) > _MAX_DEPTH:
            raise _Differing(_TOO_DEEP)


def _measure_depth(line: bytes) -> int:
    """How deep the lists and objects of a line are nested, whatever is in its texts."""
    letters = np.frombuffer(_TEXT.sub(b"", line), np.uint8)
    steps = np.isin(letters, list(b"[{")).astype(int) - np.isin(letters, list(b"]}"))
    return int(np.cumsum(steps).max(initial=0))


def _has_large(column: pa.ChunkedArray) -> bool:
    """Whether numbers may be beyond a 32-bit float, or were integers beyond 64 bits."""
    while pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    if not pa.types.is_float64(column.type):
        return False
    finite = column.filter(pc.is_finite(column))
    return (pc.max(pc.abs(finite)).as_py() or 0.0) >= 2**63


def _has_too_large(lines: bytes) -> bool:
    return any(_find_problem(line, "", {}) for line in lines.split(b"\n"))


class _Differing(Exception):
    """A name has values of different types, or values that are no feature."""


def _widen_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both."""
    if pa.types.is_timestamp(other):  # to us, text that looks like a time is text
        other = pa.string()
    if pa.types.is_list(other):
        if pa.types.is_list(other.value_type) or not (pa.types.is_list(one) or one == pa.null()):
            raise _Differing(f"{one} and {other}")
        inside = one.value_type if pa.types.is_list(one) else pa.null()
        return pa.list_(_widen_type(inside, other.value_type))
    if pa.types.is_struct(other):
        raise _Differing(f"{other}")
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    raise _Differing(f"{one} and {other}")


def _diagnose(files: Sequence[str], last: str) -> str | None:
    """What is wrong with the first bad line, and its number; None if every line is sound."""
    seen: dict[str, tuple[str, str]] = {}
    for path in files[: files.index(last) + 1]:
        with open_any(path) as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                if wrong := _find_problem(line.removeprefix(_BOM), where, seen):
                    return f"{where}: {wrong}"
    return None


def _find_problem(line: bytes, where: str, seen: dict[str, tuple[str, str]]) -> str | None:
    if not line.strip():
        return None
    if _measure_depth(line) > _MAX_DEPTH:
        return f"{_TOO_DEEP}."
    try:
        found = json.loads(
            line.strip(),
            object_pairs_hook=_refuse_repetition,
            parse_int=_parse_int,
            parse_float=_parse_float,
        )
    except _TooLarge as error:
        return f"{error}."
    except ValueError as error:
        return f"this is not a JSON object: {error}."
    if not isinstance(found, dict):
        return f'a line needs a JSON object, such as {{"name": 1}}, got {_shorten(found)}.'
    for name, value in found.items():
        kind = _name_type(value)
        if kind is None:
            return (
                f"{name!r} holds {_shorten(value)}. An example holds numbers, text and lists of "
                "these: give the values inside names of their own."
            )
        before, place = seen.setdefault(name, (kind, where)) if kind else ("", "")
        if kind != before:
            return f"{name!r} holds {kind}, but in {place} it holds {before}."
    return None


class _TooLarge(ValueError):
    """A number is too large for a feature."""


def _parse_int(text: str) -> int:
    # Such long ones Python may refuse to read.
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise _TooLarge(f"{_shorten_text(text)} is beyond a 64-bit integer")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    with np.errstate(over="ignore"):
        if np.isinf(np.float32(number)):
            raise _TooLarge(f"{_shorten_text(text)} is beyond a 32-bit float")
    return number


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _name_type(value: Any) -> str | None:
    """What a value is in words: nothing to say of a null or an empty list; None if it is nested."""
    if value is None or value == []:
        return ""
    if isinstance(value, list):
        inside = {_NAMES.get(type(item)) if not isinstance(item, list) else None for item in value}
        return f"a list of {inside.pop()}" if len(inside) == 1 and None not in inside else None
    return _NAMES.get(type(value))


def _shorten(value: Any) -> str:
    return _shorten_text(json.dumps(value))


def _shorten_text(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
