# SPDX-License-Identifier: Apache-2.0
"""One shard's Arrow columns in a file: written whole or not at all, checksummed block by block.

For the shard `<uri>/Split-train/NAME.gz` the file is `<uri>/columns/Split-train/NAME.arrow`:

    block 0, block 1, …     record batches of BLOCK_ROWS rows, the last one of what is left, each
                            with its CRC-32C
    the end                 a batch without rows that says which shard these are the columns of

A column is a large_list of int64, float32 or large_binary, as tfx_bsl's decoder gives, or of
Arrow's null type if no row has a value. Columns are sorted by name.
"""

import contextlib
import functools
import json
import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import crc32c
import pyarrow as pa

from stoker.errors import BadData
from stoker.storage.files import make_scratch_dir

BLOCK_ROWS = 1 << 14
"""Rows of a block: large enough to be read at the memory's speed, small enough to stay in it."""

MAX_PENDING_BYTES = 256 << 20
"""What is held in memory until a block is full: rows of 16 kB fit, images as floats do not."""

_CHECKSUM, _SHARD = b"crc32c", b"shard"
_READ_BYTES = 1 << 20


class DamagedColumns(Exception):
    """A file of columns is not what was written, or not of this shard; TFRecords are the truth."""


class TooLargeForColumns(Exception):
    """A block of such rows would need too much memory; TFRecords are read without columns too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardIdentity:
    """What a shard was when its columns were written.

    A file whose stat is the same is taken for the same; any other is read once, for its checksum.
    """

    size: int
    mtime_ns: int
    inode: int
    crc32c: int

    @classmethod
    def of(cls, shard: str) -> Self:
        """What a shard is now."""
        found = os.stat(shard)
        return cls(
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            inode=found.st_ino,
            crc32c=_file_checksum(shard),
        )

    def matches(self, shard: str) -> bool:
        """Whether a file is still the shard that these columns were made of.

        One that is not here was left in its bucket: what was published with it was compared then.
        """
        if not os.path.exists(shard):
            return True
        found = os.stat(shard)
        if found.st_size != self.size:
            return False
        if (found.st_mtime_ns, found.st_ino) == (self.mtime_ns, self.inode):
            return True
        return _file_checksum(shard) == self.crc32c


def columns_path(shard: str) -> str:
    """Where the columns of a shard are, if whoever wrote the shard wrote them too."""
    folder, name = os.path.split(os.path.abspath(shard))
    uri, split = os.path.split(folder)
    return os.path.join(uri, "columns", split, f"{name.removesuffix('.gz')}.arrow")


class ColumnWriter:
    """The columns of a shard that are being written; close the shard before they are closed.

    Batches may be of any size, and may lack columns, or not know their types yet.
    """

    def __init__(self, shard: str, path: str | None = None, *, whatever_size: bool = False) -> None:
        self._shard = shard
        self._path = path or columns_path(shard)
        self._whatever_size = whatever_size
        self._schema = pa.schema([])
        self._pending: list[pa.RecordBatch] = []
        self._num_pending = 0
        self._parts: list[_Part] = []

    def __enter__(self) -> Self:
        folder, name = os.path.split(self._path)
        os.makedirs(folder, exist_ok=True)
        self._scratch = contextlib.ExitStack()
        self._scratch_dir = self._scratch.enter_context(
            make_scratch_dir(folder, prefix=f".{name}.")
        )
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        with self._scratch:
            try:
                if failure is None:
                    self._finish()
            finally:
                for part in self._parts:
                    part.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch; raises TooLargeForColumns."""
        self._pending.append(batch)
        pending_bytes = sum(one.nbytes for one in self._pending)
        if pending_bytes > MAX_PENDING_BYTES and not self._whatever_size:
            raise TooLargeForColumns(self._path)
        self._num_pending += batch.num_rows
        while self._num_pending >= BLOCK_ROWS:
            self._write_block(BLOCK_ROWS)

    def _write_block(self, num_rows: int) -> None:
        batches = [_canonicalize(batch) for batch in self._pending]
        schema = union([batch.schema for batch in batches], self._path)
        table = pa.Table.from_batches([conform(batch, schema) for batch in batches], schema)
        block, rest = table.slice(0, num_rows), table.slice(num_rows)
        self._pending = rest.to_batches() if rest.num_rows else []
        self._num_pending = rest.num_rows
        self._part_for(table.schema).write(_one_batch(block))

    def _part_for(self, schema: pa.Schema) -> "_Part":
        """The file to write to: a new one when columns turn up that the last one does not have."""
        wider = union([self._schema, schema], self._path)
        if not self._parts or wider != self._schema:
            self._schema = wider
            path = os.path.join(self._scratch_dir, str(len(self._parts)))
            self._parts.append(_Part(path, wider))
        return self._parts[-1]

    def _finish(self) -> None:
        if self._num_pending or not self._parts:
            self._write_block(self._num_pending)
        last = self._parts[-1]
        if len(self._parts) > 1:
            last = _Part(os.path.join(self._scratch_dir, "whole"), self._schema)
            for part in self._parts:
                part.close()
                # Not mapped into memory: on FUSE, that would keep the file, and its folder.
                with pa.OSFile(part.path) as file:
                    reader = pa.ipc.open_file(file)
                    for index in range(reader.num_record_batches):
                        last.write(reader.get_batch(index))
        last.close(ShardIdentity.of(self._shard))
        os.replace(last.path, self._path)


class _Part:
    """An Arrow file that is being written, with a checksum per batch."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.path = path
        self._schema = schema
        self._num_batches = 0
        self._num_rows = 0
        self._file = pa.OSFile(path, "wb")
        self._writer: Any = pa.ipc.new_file(self._file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        # A batch that went through Arrow's format once has the buffers that a reader will see.
        message = conform(batch, self._schema).serialize()
        written = pa.ipc.read_record_batch(message, self._schema)
        checksum = _checksum(*_contents(written, self._num_batches))
        self._writer.write_batch(written, {_CHECKSUM: checksum})
        self._num_batches += 1
        self._num_rows += batch.num_rows

    def close(self, shard: ShardIdentity | None = None) -> None:
        if self._file.closed:
            return
        if shard:
            end = json.dumps({**asdict(shard), "num_rows": self._num_rows}).encode()
            nothing = pa.RecordBatch.from_pylist([], self._schema)
            self._writer.write_batch(nothing, {_SHARD: end, _CHECKSUM: _checksum(end)})
        self._writer.close()
        self._file.close()


class ColumnFile:
    """A file of columns, mapped into memory; each block is checked when it is first asked for."""

    def __init__(self, path: str, shard: str) -> None:
        self.path = path
        with _damage_in(path):
            with open(path, "rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.buffer = pa.py_buffer(self.data)
            self._reader = pa.ipc.open_file(self.buffer)
            self.schema: pa.Schema = self._reader.schema
            self.num_blocks = self._reader.num_record_batches - 1
            _, says = self._reader.get_batch_with_custom_metadata(self.num_blocks)
            if says[_CHECKSUM] != _checksum(says[_SHARD]):
                raise DamagedColumns(f"{path}: the checksum of its end is wrong")
            end = json.loads(says[_SHARD])
            self.num_rows = int(end.pop("num_rows"))
            identity = ShardIdentity(**end)
        self.shard_size = identity.size
        if not identity.matches(shard):
            raise DamagedColumns(f"{path} holds the columns of another {os.path.basename(shard)}")
        self._checked: set[int] = set()

    def block(self, index: int) -> pa.RecordBatch:
        """The rows from `index * BLOCK_ROWS` on."""
        with _damage_in(self.path):
            batch, says = self._reader.get_batch_with_custom_metadata(index)
            if index not in self._checked:
                if says[_CHECKSUM] != _checksum(*_contents(batch, index)):
                    raise DamagedColumns(f"{self.path}: the checksum of block {index} is wrong")
                batch.validate(full=True)  # that offsets stay within their buffers
                self._checked.add(index)
        return batch

    def blocks(self) -> list[pa.RecordBatch]:
        """All rows."""
        return [self.block(index) for index in range(self.num_blocks)]


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of a wider schema: null where it has none, or no type for it."""
    if batch.schema == schema:
        return batch
    columns = []
    for field in schema:
        place = batch.schema.get_field_index(field.name)
        known = place >= 0 and batch.schema.field(place).type == field.type
        columns.append(batch.column(place) if known else pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def type_of(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column; Arrow's null type if there is none of this name."""
    place = schema.get_field_index(name)  # unlike `names`, it makes no list of them all
    return pa.null() if place < 0 else schema.field(place).type


def _canonicalize(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same columns, sorted, as lists with the value types that an example can hold."""
    names = sorted(batch.schema.names)
    if batch.num_rows and not names:
        raise BadData(
            f"There are examples without any feature, {batch.num_rows} in a row, and so without "
            "columns. Leave them out."
        )
    columns = [batch.column(name) for name in names]
    cast = [column.cast(_canonical_type(column.type)) for column in columns]
    fields = [pa.field(name, column.type) for name, column in zip(names, cast, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=pa.schema(fields))


def _canonical_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return kind
    value = kind.value_type
    if pa.types.is_integer(value):
        return pa.large_list(pa.int64())
    return pa.large_list(pa.float32() if pa.types.is_floating(value) else pa.large_binary())


def union(schemas: list[pa.Schema], path: str) -> pa.Schema:
    """All columns of some schemas, sorted by name; `path` is named if they do not agree."""
    try:
        fields = pa.unify_schemas(schemas) if schemas else ()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadData(
            f"{path}: a feature changes its type: {error}. Write it with one type everywhere."
        ) from error
    return pa.schema(sorted(fields, key=lambda field: field.name))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _contents(batch: pa.RecordBatch, index: int) -> Iterator[Any]:
    """Everything that a reader takes from the file: names, types, sizes and buffers."""
    arrays = [*batch.columns, *(c.values for c in batch.columns if pa.types.is_large_list(c.type))]
    counts = [(len(array), array.null_count) for array in arrays]
    yield f"{index} {batch.num_rows} {batch.schema} {counts}".encode()
    for column in batch.columns:
        yield from filter(None, column.buffers())


def _checksum(*data: Any) -> bytes:
    return str(_crc(data)).encode()


def _file_checksum(path: str) -> int:
    with open(path, "rb") as file:
        return _crc(iter(functools.partial(file.read, _READ_BYTES), b""))


def _crc(data: Iterable[Any]) -> int:
    return functools.reduce(lambda checksum, part: crc32c.crc32c(part, checksum), data, 0)


@contextlib.contextmanager
def _damage_in(path: str) -> Iterator[None]:
    """What Arrow, or what is missing, says about a damaged file, as one error."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise DamagedColumns(f"{path} cannot be read: {error}") from error
