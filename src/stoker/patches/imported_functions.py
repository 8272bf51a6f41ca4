# SPDX-License-Identifier: Apache-2.0
"""The third way to change a third party: a C function that its compiled libraries import.

A library on Linux calls the functions of others through a table of their addresses, which the
loader fills in (ELF's global offset table). The address of one function is replaced there, for
libraries of certain names and for no others.
"""

import ctypes
import mmap
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_TABLE, _STRINGS, _SYMBOLS, _RELOCATIONS = 2, 5, 6, 7
_RELOCATIONS_SIZE, _STRINGS_SIZE, _CALLS, _CALLS_SIZE = 8, 10, 23, 2
_RELOCATION = np.dtype([("where", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("more", "<i8")])
_SYMBOL = np.dtype({"names": ["name"], "formats": ["<u4"], "offsets": [0], "itemsize": 24})

_kept: list[Any] = []  # what C code may call has to stay


class _LibraryInfo(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("path", ctypes.c_char_p),
        ("headers", ctypes.c_void_p),
        ("num_headers", ctypes.c_uint16),
    )


class _Header(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 4),
    )


def replace_imported(libraries: str, function: str, new: Any) -> int:
    """Let loaded libraries call `new`, a ctypes callback; in how many places they will.

    None where the system's libraries are made otherwise.
    """
    slots = [
        slot
        for base, table in _list_tables(libraries)
        for slot in _find_slots(base, table, function.encode())
    ]
    address = ctypes.cast(new, ctypes.c_void_p).value
    for slot in slots:
        _make_writable(slot)
        ctypes.c_void_p.from_address(slot).value = address
    _kept.append(new)
    return len(slots)


def _list_tables(libraries: str) -> list[tuple[int, dict[int, int]]]:
    """Of each loaded library: where it begins, and where its tables are."""
    look_at_libraries = getattr(ctypes.CDLL(None), "dl_iterate_phdr", None)
    if look_at_libraries is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return []
    found: list[tuple[int, dict[int, int]]] = []

    def note(info: Any, _size: int, _data: Any) -> int:
        library = info.contents
        if os.path.basename(library.path or b"").startswith(libraries.encode()):
            headers = (_Header * library.num_headers).from_address(library.headers)
            found.extend(
                (library.base, dict(_read_entries(library.base + header.address)))
                for header in headers
                if header.kind == _TABLE
            )
        return 0

    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(_LibraryInfo), ctypes.c_size_t, ctypes.c_void_p
    )
    look_at_libraries(kind(note), None)
    return found


def _read_entries(position: int) -> Iterator[tuple[int, int]]:
    while tag := ctypes.c_int64.from_address(position).value:
        yield tag, ctypes.c_uint64.from_address(position + 8).value
        position += 16


def _find_slots(base: int, table: dict[int, int], function: bytes) -> Iterator[int]:
    """Where a library keeps the address of a function that it imports."""
    strings = (ctypes.c_char * table[_STRINGS_SIZE]).from_address(table[_STRINGS])
    # The linker keeps `bind` once, perhaps as the end of another name.
    names = [found.start() for found in re.finditer(re.escape(function) + b"\0", strings)]
    for start, size in ((_CALLS, _CALLS_SIZE), (_RELOCATIONS, _RELOCATIONS_SIZE)):
        if not table.get(start):
            continue
        relocations = _view(table[start], table[size] // _RELOCATION.itemsize, _RELOCATION)
        named = relocations[relocations["symbol"] != 0]
        if not len(named):
            continue
        symbols = _view(table[_SYMBOLS], int(named["symbol"].max()) + 1, _SYMBOL)
        wanted = np.isin(symbols["name"][named["symbol"]], names)
        yield from (base + int(where) for where in named["where"][wanted])


def _view(address: int, count: int, dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory), dtype)


def _make_writable(address: int) -> None:
    page = address & -mmap.PAGESIZE
    ctypes.CDLL(None).mprotect(
        ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE
    )
