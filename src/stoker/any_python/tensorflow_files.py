# SPDX-License-Identifier: Apache-2.0
"""The files that TensorFlow reads by itself, of which Python hears nothing: they are told.

    tf.io.gfile, SavedModels              file_io's own library
    tf.io.read_file, Dataset.list_files   the ops' wrappers
    TextLineDataset, TFRecordDataset, …   the names that a dataset is made of
    tf.lookup.TextFileInitializer         its argument
    tf.train.load_checkpoint              its argument

A name that is computed in a graph is not seen; the list that it was taken from is. Folders that are
moved find their place free (surroundings.py).
"""

from __future__ import annotations

import functools
import glob
import os
import sys
from typing import Any, Callable, Iterator, Mapping

from .notes import is_file
from .observing import get_observer
from .surroundings import let_move

_MOST_NAMES = 100_000

Tell = Callable[[Any], None]


def tell_file_reads() -> None:
    """Let TensorFlow, which has been imported, tell what it is asked to read.

    What a version of it does not have is left alone.
    """
    _wrap_library()
    for place, name, tell in (
        ("ops.gen_io_ops", "read_file", _read),
        ("ops.gen_io_ops", "matching_files", _read_matching),
        ("data.ops.readers", "_create_or_validate_filenames_dataset", _read),
        ("data.experimental.ops.readers:CsvDatasetV2", "__init__", _read),
        ("ops.lookup_ops:TextFileInitializer", "__init__", _read),
        ("data.ops.dataset_ops:DatasetV2", "from_tensor_slices", _read),
        ("training.py_checkpoint_reader", "NewCheckpointReader", _read_prefix),
    ):
        _wrap(_find_place(place), name, tell)


def _find_place(name: str) -> Any:
    """A module of TensorFlow, or a class in one; None if it has none of that name."""
    module, _, owner = name.partition(":")
    for package in ("tensorflow.python.", "tensorflow_core.python."):  # the latter in 1.15
        if package + module in sys.modules:
            found = sys.modules[package + module]
            return getattr(found, owner, None) if owner else found
    return None


def _wrap(place: Any, name: str, tell: Tell) -> None:
    """Let a function, or a method of a class, tell its first argument before it runs."""
    function = getattr(place, name, None)
    if place is None or function is None or hasattr(function, "tells_reads"):
        return
    position = 1 if name == "__init__" else 0

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        given = args[position] if len(args) > position else next(iter(kwargs.values()), None)
        tell(given)
        return function(*args, **kwargs)

    watched.tells_reads = True  # type: ignore[attr-defined]
    setattr(place, name, staticmethod(watched) if name == "from_tensor_slices" else watched)


def _wrap_library() -> None:
    place = _find_place("lib.io.file_io")
    library = getattr(place, "_pywrap_file_io", None)
    if library is not None and not isinstance(library, _FileLibrary):
        place._pywrap_file_io = _FileLibrary(library)


class _FileLibrary:
    """Stands for TensorFlow's own library of files."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)
        tell = _LIBRARY.get(name)
        if name == "RenameFile":
            return let_move(function)
        if tell is None:
            return function

        def watched(path: Any, *args: Any) -> Any:
            tell(path)
            return function(path, *args)

        return watched


def _read(names: Any) -> None:
    """Note the files of these names, if they are the names of files."""
    observer = get_observer()
    if observer is None:
        return
    for name in filter(is_file, _list_names(names)):
        observer.read_file(name)
        if os.path.basename(name) in ("saved_model.pb", "saved_model.pbtxt"):
            _read(_list_tree(os.path.dirname(name)))


def _ask(name: Any) -> None:
    observer = get_observer()
    if observer is not None:
        observer.ask_for(name)


def _write(name: Any) -> None:
    observer = get_observer()
    if observer is not None:
        observer.write_file(name)


def _list(name: Any) -> None:
    observer = get_observer()
    if observer is not None:
        observer.list_folder(name)


def _read_matching(patterns: Any) -> None:
    """Note the files that match: whoever lists them in a graph reads them there."""
    for pattern in _list_names(patterns):
        _list_matching(pattern)
        _read(_find(pattern))


def _list_matching(pattern: Any) -> None:
    folder = os.path.dirname(os.fsdecode(pattern)) or "."
    if not glob.has_magic(folder):
        _list(folder)


def _read_prefix(prefix: Any) -> None:
    """Note the files of a checkpoint."""
    for name in _list_names(prefix):
        _read(_find(glob.escape(name) + ".*"))


def _find(pattern: str) -> list[str]:
    """The files that match, which nobody has listed but us."""
    observer = get_observer()
    if observer is None:
        return []
    with observer.look_aside():
        return glob.glob(pattern, recursive=True)


def _list_tree(folder: str) -> list[str]:
    """The other files of a SavedModel."""
    found = _find(os.path.join(glob.escape(folder), "**"))
    return [path for path in found if not os.path.basename(path).startswith("saved_model.")]


_LIBRARY: Mapping[str, Tell] = {
    "BufferedInputStream": _read,
    "CopyFile": _read,
    "FileExists": _ask,
    "GetChildren": _list,
    "GetMatchingFiles": _list_matching,
    "IsDirectory": _ask,
    "ReadFileToString": _read,
    "Stat": _ask,
    "WritableFile": _write,
}


def _list_names(given: Any) -> Iterator[str]:
    """The names in a text, a path, a list, an array, an eager tensor, or a structure of those."""
    if hasattr(given, "numpy"):
        given = given.numpy()
    if hasattr(given, "tolist"):
        is_text = given.dtype.kind in "OSU"
        given = given.tolist() if is_text else ()
    if isinstance(given, dict):
        given = tuple(given.values())
    if isinstance(given, (str, bytes, os.PathLike)):
        name = os.fsdecode(given)
        if name and "\0" not in name:
            yield name
    elif isinstance(given, tuple) or _is_list_of_names(given):
        for one in given:
            yield from _list_names(one)


def _is_list_of_names(given: Any) -> bool:
    """Whether this is such a list, as its first entry tells; most are of numbers."""
    is_list = isinstance(given, list) and 0 < len(given) <= _MOST_NAMES
    return is_list and isinstance(given[0], (str, bytes, os.PathLike))
