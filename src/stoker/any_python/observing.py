# SPDX-License-Identifier: Apache-2.0
"""Notes what a step's code reads, while it runs (notes.py says what a note is).

    os.environ, sys.argv     stand-ins of the same kind tell what is asked of them
    absl's FLAGS             surroundings.py does the same for them
    files and folders        Python tells an audit hook; before Python 3.8, `open` is replaced
    whether a file is there  os.path and pathlib are asked through us

What no Python line reads, such as TensorFlow's own files, is told by whoever calls TensorFlow.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import os
import pathlib
import shlex
import sys
import threading
from typing import Any, Callable, Iterator, Mapping, Sequence

from .notes import (
    COMMAND_LINE,
    FILE,
    FLAG,
    FOLDER,
    PRESENCE,
    VARIABLE,
    VARIABLES,
    Journal,
    Notes,
    Places,
    Reader,
    describe_file,
    describe_folder,
    describe_presence,
    digest_file,
    find_users_places,
    is_file,
    is_stokers_variable,
    is_users_variable,
)
from .surroundings import tell_reads

# What frameworks read, they read for their own ends.
_FRAMEWORKS = frozenset(
    """
    absl apache_beam google grpc h5py jax jaxlib keras keras_tuner matplotlib numpy ray scipy
    tensorboard tensorflow tensorflow_data_validation tensorflow_estimator tensorflow_metadata
    tensorflow_model_analysis tensorflow_transform tf_keras tfx_bsl torch
    """.split()  # noqa: SIM905 - it is read as a list of words
)
_FINDS_MODULES = ("importlib", "importlib_metadata", "pkg_resources", "pkgutil")
_SHOWS_SOURCES = ("/linecache.py", "/tokenize.py", "/inspect.py")


class Observer:
    """Notes what is read in this process; `given` is what the program has to be read."""

    def __init__(
        self,
        *,
        given: Mapping[str, str],
        places: Places,
        others: Sequence[str] = (),
        passed_over: Sequence[str] = (),
        moved_to: str = "",
    ) -> None:
        self.notes: Notes = {}
        self.places = places
        self._given = given
        self._others = others
        self._passed_over = passed_over
        self._moved_to = moved_to
        self._journal: Journal | None = None
        self._written: set[str] = set()
        self._thread = threading.local()

    def open_journal(self, folder: str) -> None:
        """Write what is noted from now on to a journal."""
        self._journal = Journal(folder)

    def close_journal(self) -> None:
        """Write no more."""
        if self._journal:
            self._journal.close()
        self._journal = None

    def _note(self, name: str, value: str | None) -> None:
        if value is None:
            del self.notes[name]
        else:
            self.notes[name] = value
        if self._journal:
            self._journal.write(name, value)

    # What the program was given

    def read_given(self, name: str) -> None:
        """Note a flag, the command line or a variable, unless the step has set it itself."""
        if name not in self.notes and name not in self._written:
            self._note(name, self._given.get(name, ""))

    def read_variable(self, variable: str) -> None:
        """Note a variable if the user's code reads it."""
        name = VARIABLE + variable
        if name in self.notes or name in self._written or is_stokers_variable(variable):
            return
        reader = self.places.find_reader(_FRAMEWORKS)
        named = reader is Reader.DIRECT
        if named or (reader is Reader.INDIRECT and is_users_variable(variable)):
            self.read_given(name)

    def list_variables(self) -> None:
        """Note every variable if the user's code lists them."""
        if VARIABLES in self.notes or not self.places.find_reader(_FRAMEWORKS):
            return
        self.read_given(VARIABLES)
        for name in self._given:
            if name.startswith(VARIABLE) and is_users_variable(name[len(VARIABLE) :]):
                self.read_given(name)

    def write_variable(self, variable: str) -> None:
        """Remember that the step has set a variable itself."""
        self._written.add(VARIABLE + variable)

    def read_command_line(self) -> None:
        """Note the command line if the user's code reads it."""
        if COMMAND_LINE not in self.notes and self.places.find_reader(_FRAMEWORKS):
            self.read_given(COMMAND_LINE)

    def read_flag(self, flag: str) -> None:
        """Note a flag if the user's code reads it; absl's logging has flags of its own."""
        if FLAG + flag not in self.notes and self.places.find_reader(frozenset()):
            self.read_given(FLAG + flag)

    # Files

    def read_file(self, path: Any) -> None:
        """Note a file that is read, if it is the user's."""
        self._read(FILE, path, lambda found: describe_file(found, digest_file))

    def list_folder(self, path: Any) -> None:
        """Note a folder that is listed."""
        self._read(FOLDER, path, lambda found: describe_folder(found, self._others))

    def ask_for(self, path: Any) -> None:
        """Note that it was asked whether something is there."""
        self._read(PRESENCE, path, describe_presence)

    def read_modules(self) -> None:
        """Note the files of what was imported, also of what was before anybody looked."""
        for module in list(sys.modules.values()):  # other threads may be importing
            file = getattr(module, "__file__", None)
            if isinstance(file, str):
                self.read_file(file)

    def write_file(self, path: Any) -> None:
        """Remember that the step makes a file itself: that it was not there no longer counts."""
        found = self._find(path)
        if found and found not in self._written:
            self._written.add(found)
            name = PRESENCE + self._say_at_home(found)
            if self.notes.get(name) == "missing":
                self._note(name, None)

    def _read(self, kind: str, path: Any, describe: Callable[[str], str]) -> None:
        found = self._find(path)
        if not found or found in self._written or found in self._passed_over:
            return
        name = kind + self._say_at_home(found)
        if name not in self.notes:
            with self.look_aside():
                value = describe(found)
            self._note(name, value)

    @contextlib.contextmanager
    def look_aside(self) -> Iterator[None]:
        """Inside, this thread reads files for the notes themselves."""
        self._thread.is_busy = True
        try:
            yield
        finally:
            self._thread.is_busy = False

    def _find(self, path: Any) -> str:
        """The absolute path of one that counts, else nothing."""
        if isinstance(path, int) or getattr(self._thread, "is_busy", False):
            return ""
        if isinstance(path, str) and path.startswith(self.places.never_users):
            return ""  # most are of the standard library, and of installed packages
        try:
            found = os.path.abspath(os.fsdecode(path))
        except (TypeError, ValueError, OSError):
            return ""
        return found if self.places.is_users(found) else ""

    def _say_at_home(self, path: str) -> str:
        """The path of a file on the machine that it was sent from."""
        was_moved = self._moved_to and path.startswith(self._moved_to)
        return path[len(self._moved_to) :] if was_moved else path


class _State:
    observer: Observer | None = None
    is_watching = False
    preloaded: Sequence[str] = ()
    """What packages have read that were imported before there was a task."""


def get_observer() -> Observer | None:
    """Who notes what is read in this process now; None for nobody."""
    return _State.observer


@contextlib.contextmanager
def observe_step(
    *,
    observed_dir: str,
    given: Mapping[str, str],
    import_paths: Sequence[str],
    code_files: Sequence[str],
    pipeline_files: Sequence[str],
    not_users: Sequence[str],
    moved_to: str,
) -> Iterator[None]:
    """Note in `observed_dir` what the user's code reads inside; what it has imported, at the end.

    That code is in `code_files`. `pipeline_files` define steps, and count definition by definition.
    """
    if not observed_dir:
        yield
        return
    observer = Observer(
        given=given,
        places=find_users_places(import_paths, code_files, not_users),
        others=not_users,
        passed_over=pipeline_files,
        moved_to=moved_to,
    )
    observer.open_journal(observed_dir)
    try:
        with observe(observer):
            for name in _State.preloaded:
                observer.read_given(name)
            yield
            observer.read_modules()
    finally:
        observer.close_journal()


@contextlib.contextmanager
def observe_preloading() -> Iterator[None]:
    """Remember for all steps to come which variables are read by packages imported inside."""
    observer = Observer(given={}, places=Places())
    observer.places.is_preloading = True
    _watch_environment()
    _State.observer = observer
    try:
        yield
    finally:
        _State.observer = None
        _State.preloaded = tuple(observer.notes)


@contextlib.contextmanager
def observe(observer: Observer) -> Iterator[Observer]:
    """Note what is read inside."""
    _watch_environment()
    if not _State.is_watching:
        _watch_files()
        _watch_questions()
        _State.is_watching = True
    _State.observer = observer
    sys.argv = _Arguments(sys.argv)
    tell_reads(observer.read_flag)
    try:
        yield observer
    finally:
        _State.observer = None
        sys.argv = list(sys.argv)
        tell_reads(None)


# The stand-ins


def _watch_environment() -> None:
    """Let os.environ tell what is read; whoever has imported it has the same object."""
    if hasattr(type(os.environ), "is_watched"):
        return

    listing = _Listing()

    class WatchedEnvironment(type(os.environ)):  # type: ignore[misc]
        is_watched = True

        def __getitem__(self, key: Any) -> Any:
            if _State.observer and not listing.goes_on(key, sys._getframe(1)):
                _State.observer.read_variable(os.fsdecode(key))
            return super().__getitem__(key)

        def __iter__(self) -> Iterator[Any]:
            if _State.observer:
                _State.observer.list_variables()
            listing.place = _find_place(sys._getframe(1))
            for listing.key in super().__iter__():
                yield listing.key
            listing.key = None

        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)
            if _State.observer:
                _State.observer.write_variable(os.fsdecode(key))

    os.environ.__class__ = os.environb.__class__ = WatchedEnvironment


class _Listing(threading.local):
    """Who has last listed all variables: to look up what was listed is to name nothing."""

    key: Any = None
    place: Any = None

    def goes_on(self, key: Any, reader: Any) -> bool:
        """Whether a variable is read in a loop over all, or by what copies all, such as dict()."""
        return key == self.key or (self.place is not None and _find_place(reader) == self.place)


def _find_place(frame: Any) -> Any:
    """The very instruction that has called into os.environ."""
    while frame and frame.f_code.co_filename.endswith(("_collections_abc.py", "_collections_abc>")):
        frame = frame.f_back
    return frame and (id(frame), frame.f_code, frame.f_lasti)


class _Arguments(list):  # type: ignore[type-arg]
    """sys.argv; the name of the program itself is nothing that it was given."""

    def __getitem__(self, index: Any) -> Any:
        if index != 0:
            self._tell()
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        self._tell()
        return super().__iter__()

    def __len__(self) -> int:
        self._tell()
        return super().__len__()

    def __contains__(self, value: object) -> bool:
        self._tell()
        return super().__contains__(value)

    def __eq__(self, other: object) -> bool:
        self._tell()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        self._tell()
        return super().__ne__(other)

    def __add__(self, other: Any) -> Any:
        self._tell()
        return super().__add__(other)

    def __radd__(self, other: Any) -> Any:
        self._tell()
        return other + list(self)

    def __repr__(self) -> str:
        self._tell()
        return super().__repr__()

    def copy(self) -> Any:
        self._tell()
        return super().copy()

    def index(self, *args: Any) -> int:
        self._tell()
        return super().index(*args)

    def count(self, value: Any) -> int:
        self._tell()
        return super().count(value)

    def pop(self, *args: Any) -> Any:
        self._tell()
        return super().pop(*args)

    def _tell(self) -> None:
        if _State.observer:
            _State.observer.read_command_line()

    __hash__ = None


# Files


def _watch_files() -> None:
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(_hear)
        return
    read = builtins.open

    @functools.wraps(read)
    def watched_open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        _hear("open", (file, mode, os.O_RDONLY if "r" in mode else os.O_WRONLY))
        return read(file, mode, *args, **kwargs)

    builtins.open = io.open = watched_open
    for name in ("listdir", "scandir"):
        setattr(os, name, _tell_first(getattr(os, name), f"os.{name}"))


def _tell_first(function: Callable[..., Any], event: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(path: Any = ".") -> Any:
        _hear(event, (path,))
        return function(path)

    return watched


def _hear(event: str, args: Sequence[Any]) -> None:
    """What Python tells of what this process does."""
    if _State.observer is not None and event in _HANDLERS:
        _HANDLERS[event](_State.observer, *args)


def _open(observer: Observer, path: Any, _mode: Any, flags: int) -> None:
    writes = flags & os.O_ACCMODE
    if writes == os.O_WRONLY or (writes and flags & os.O_CREAT):
        observer.write_file(path)
    elif not (str(path).endswith(".py") and _is_for(_SHOWS_SOURCES)):
        observer.read_file(path)


def _list(observer: Observer, path: Any) -> None:
    module = str(sys._getframe(2).f_globals.get("__name__"))
    if not module.startswith(_FINDS_MODULES):
        observer.list_folder("." if path is None else path)


def _make(observer: Observer, path: Any, *_: Any) -> None:
    observer.write_file(path)


def _move(observer: Observer, _source: Any, target: Any, *_: Any) -> None:
    observer.write_file(target)


def _connect(observer: Observer, database: Any) -> None:
    if database != ":memory:":
        observer.read_file(database)


def _start(observer: Observer, _executable: Any, arguments: Any, folder: Any, _env: Any) -> None:
    _read_arguments(observer, arguments, folder)


def _spawn(observer: Observer, _path: Any, arguments: Any, _env: Any) -> None:
    _read_arguments(observer, arguments, None)


def _shell(observer: Observer, command: Any) -> None:
    _read_arguments(observer, command, None)


_HANDLERS: Mapping[str, Callable[..., None]] = {
    "open": _open,
    "os.listdir": _list,
    "os.scandir": _list,
    "os.mkdir": _make,
    "os.remove": _make,
    "os.rename": _move,
    "os.link": _move,
    "os.symlink": _move,
    "os.posix_spawn": _spawn,
    "os.system": _shell,
    "sqlite3.connect": _connect,
    "subprocess.Popen": _start,
}


def _read_arguments(observer: Observer, arguments: Any, folder: Any) -> None:
    """Another program reads the files that it is started with."""
    if isinstance(arguments, (str, bytes)):
        with contextlib.suppress(ValueError):
            arguments = shlex.split(os.fsdecode(arguments))
    for argument in arguments if isinstance(arguments, (list, tuple)) else ():
        with contextlib.suppress(TypeError, ValueError):
            path = os.path.join(os.fsdecode(folder or ""), os.fsdecode(argument))
            if is_file(path):
                observer.read_file(path)


def _is_for(files: Sequence[str]) -> bool:
    """Whether one of these files of the standard library is what opens a file."""
    frame = sys._getframe(3)
    return any(
        one is not None and one.f_code.co_filename.endswith(tuple(files))
        for one in (frame, frame and frame.f_back)
    )


def _watch_questions() -> None:
    for name in ("exists", "isfile", "isdir"):
        setattr(os.path, name, _tell_question(getattr(os.path, name)))
    for name in ("exists", "is_file", "is_dir"):
        setattr(pathlib.Path, name, _tell_question(getattr(pathlib.Path, name)))


def _tell_question(function: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(function)
    def watched(path: Any, *args: Any, **kwargs: Any) -> bool:
        if _State.observer is not None:
            _State.observer.ask_for(path)
        return function(path, *args, **kwargs)

    return watched
