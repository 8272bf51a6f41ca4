# SPDX-License-Identifier: Apache-2.0
"""What a step's code reads besides its inputs and parameters, noted while it runs.

Each note is a name and a value: a part of the step's cache key that is known only afterwards.

    flag lr              --lr=0.1, as the program was given it
    command line         a digest
    variable LR          a digest: it may be a secret
    variables            a digest of the names, where all of them were listed
    file /p/a.json       a digest of its content, `missing`, or of a large file its size and time
    presence of /p/b     `there` or `missing`, where that is all that was asked
    folder /p            a digest of the names in it

A note is written to a journal at once, so that a process that is killed leaves what it has read;
and so does one that was forked from it.

What counts is the user's: read by the user's own code or on its behalf, and not a library's own.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import json
import os
import socket
import stat
import sys
import tempfile
from types import FrameType
from typing import AbstractSet, Callable, Dict, Iterable, Sequence

from .modules import is_installed, package_of
from .own_code import HERE, OUR_PLACES

FLAG, VARIABLE, FILE, FOLDER, PRESENCE = "flag ", "variable ", "file ", "folder ", "presence of "
COMMAND_LINE, VARIABLES = "command line", "variables"
CHANGED = "changed while it was read"

Notes = Dict[str, str]

_LARGE_BYTES = 64 << 20
# Where files are nobody's, unless the user's own code lies deeper in there.
_OF_THE_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/snap"),
    *("/sys", "/tmp", "/usr", "/var", "/private", "/System", "/Library"),
)
_INSTALLED = ("/site-packages/", "/dist-packages/")
_WATCHERS = tuple(
    os.path.join(HERE, name) for name in ("notes.py", "observing.py", "surroundings.py")
)
# They stand between whoever reads a variable and the variable.
_PASSED_THROUGH = ("/os.py", "/_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
# What Stoker sets itself for its workers.
_SET_FOR_WORKERS = frozenset(
    """
    CUDA_VISIBLE_DEVICES KERASTUNER_ORACLE_IP KERASTUNER_ORACLE_PORT KERASTUNER_TUNER_ID
    TF2_BEHAVIOR TF_CONFIG TF_CPP_MIN_LOG_LEVEL TF_FORCE_GPU_ALLOW_GROWTH TF_NUM_INTRAOP_THREADS
    TF_USE_LEGACY_KERAS TMPDIR no_grpc_proxy
    """.split()  # noqa: SIM905 - it is read as a list of words
)
# What differs from shell to shell.
_OF_THE_SHELL = frozenset(
    """
    _ BASHOPTS BASH_ENV COLORFGBG COLORTERM COLUMNS DISPLAY EDITOR EUID GPG_AGENT_INFO GPG_TTY
    HISTCONTROL HISTFILE HISTSIZE HOME HOST HOSTNAME INFOPATH INVOCATION_ID JOURNAL_STREAM LANG
    LANGUAGE LESS LESSCLOSE LESSOPEN LINES LOGNAME LS_COLORS MAIL MANPATH NO_COLOR OLDPWD PAGER PATH
    PPID PS1 PWD PYTHONPATH SHELL SHELLOPTS SHLVL STY SYSTEMD_EXEC_PID TEMP TERM TMP TMUX TMUX_PANE
    TZ UID USER USERNAME VIRTUAL_ENV VIRTUAL_ENV_PROMPT VISUAL VTE_VERSION WAYLAND_DISPLAY WINDOWID
    WSL_INTEROP XAUTHORITY
    """.split()  # noqa: SIM905
)
_PREFIXES_OF_THE_SHELL = (
    *("BASH_FUNC_", "CONDA_", "DBUS_", "GNOME_", "GTK_", "ITERM_", "KITTY_", "LC_", "PYENV_"),
    *("PYTEST_", "QT_", "RAY_", "SSH_", "SUDO_", "TERM_", "VSCODE_", "XDG_"),
)


def describe_file(path: str, digest: Callable[[str], str]) -> str:
    """A file as a note has it; `digest` gives that of its content."""
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGE_BYTES:
            return digest(path)
    except (OSError, ValueError):
        return "missing"
    if stat.S_ISREG(found.st_mode):
        return f"{found.st_size} bytes of {found.st_mtime_ns}, {found.st_ctime_ns}"
    return "a folder" if stat.S_ISDIR(found.st_mode) else "no file"


def describe_folder(path: str, others: Iterable[str]) -> str:
    """A folder's names as a note has them, without hidden ones and without the folders `others`."""
    apart = set(others)
    try:
        names = sorted(
            name
            for name in os.listdir(path)
            if not name.startswith((".", "__pycache__")) and os.path.join(path, name) not in apart
        )
    except OSError:
        return "missing"
    return digest_text("\n".join(names))


def is_file(path: str) -> bool:
    """As os.path.isfile, which would be noted itself."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def describe_presence(path: str) -> str:
    """Whether there is anything at a path, as a note has it."""
    return "there" if os.path.lexists(path) else "missing"


def digest_text(text: str) -> str:
    """A short digest."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]


def digest_file(path: str) -> str:
    """The digest of a file's content."""
    content = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(functools.partial(file.read, 1 << 20), b""):
            content.update(part)
    return content.hexdigest()


def read_journals(folder: str) -> Notes:
    """What the processes of a step have noted, those of earlier attempts included."""
    notes: Notes = {}
    with contextlib.suppress(FileNotFoundError):
        for journal in sorted(os.listdir(folder)):
            with open(os.path.join(folder, journal), encoding="utf-8") as file:
                _read_journal(file, notes)
    return notes


def _read_journal(lines: Iterable[str], notes: Notes) -> None:
    for line in lines:
        if not line.endswith("\n"):  # the process was killed while it wrote
            return
        name, value = json.loads(line)
        if value is None:
            notes.pop(name, None)
        elif notes.setdefault(name, value) != value:
            notes[name] = CHANGED


class Journal:
    """Where a process writes its notes; the forks of that process write there too."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{socket.gethostname()}-{os.getpid()}.jsonl")
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._unwritten = b""

    def write(self, name: str, value: str | None) -> None:
        """Write one note; None takes it back. What a full disk refuses is tried again."""
        self._unwritten += (json.dumps([name, value]) + "\n").encode()
        with contextlib.suppress(OSError):  # whoever reads a file must not fail for the note
            self._flush()

    def close(self) -> None:
        """Write no more; raises OSError if something could not be written."""
        try:
            self._flush()
        finally:
            os.close(self._descriptor)

    def _flush(self) -> None:
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._descriptor, self._unwritten) :]


class Reader(enum.IntEnum):
    """Who reads something: not the user's code, that code itself, or what it has called."""

    OTHER = 0
    DIRECT = 1
    INDIRECT = 2


class Places:
    """Where the user's own code and files are: what lies in a folder of nobody's does not count.

    Of folders inside of each other the innermost decides: a program in /tmp has files of its own.
    """

    def __init__(self, users: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        folders = [*_OF_THE_SYSTEM, sys.prefix, sys.base_prefix, *others]
        self._others = (*_as_prefixes([*folders, *map(os.path.realpath, folders)]), *OUR_PLACES)
        self._users = tuple(
            folder
            for folder in _as_prefixes(users)
            if folder != "/" and not folder.startswith(OUR_PLACES)
        )
        self.never_users = tuple(
            folder
            for folder in self._others
            if not any(users.startswith(folder) for users in self._users)
        )
        self._hidden = os.path.join(os.path.expanduser("~"), ".")
        self.is_preloading = False
        """Whether what installed packages read counts while we import them for the user's code."""

    def is_users(self, path: str) -> bool:
        """Whether a file, by its absolute path, counts."""
        others = max(_measure(self._others, path), self._measure_apart(path))
        return not others or _measure(self._users, path) > others

    def _measure_apart(self, path: str) -> int:
        """How deep a folder lies of installed packages, or one that is hidden in the home."""
        if "/__pycache__/" in path or "/.git/" in path:
            return len(path)
        ends = [path.find(name) + len(name) for name in _INSTALLED if name in path]
        if path.startswith(self._hidden) and "/" in path[len(self._hidden) :]:
            ends.append(len(self._hidden))
        return max(ends, default=0)

    def find_reader(self, apart: AbstractSet[str]) -> Reader:
        """Who is reading in this thread; packages that are `apart` read for their own ends."""
        frame: FrameType | None = sys._getframe(1)
        reader, passed_package = Reader.DIRECT, False
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(OUR_PLACES):
                if file not in _WATCHERS:
                    counts = self.is_preloading and passed_package
                    return Reader.INDIRECT if counts else Reader.OTHER
            elif str(frame.f_globals.get("__name__")).partition(".")[0] in apart:
                return Reader.OTHER
            elif self._is_users_code(file):
                return reader
            elif not file.endswith(_PASSED_THROUGH):
                reader = Reader.INDIRECT
                passed_package = passed_package or any(name in file for name in _INSTALLED)
            frame = frame.f_back
        return Reader.OTHER

    def _is_users_code(self, file: str) -> bool:
        """Whether a line of this file is the user's; what AutoGraph writes of it is, too."""
        if file.startswith("<"):
            return False
        return not is_installed(file) or _measure(self._users, file) > self._measure_apart(file)


def find_users_places(
    import_paths: Sequence[str], code_files: Iterable[str], others: Iterable[str]
) -> Places:
    """The places of a step whose code is in some files; what lies in `others` is not the user's."""
    users = [path for path in import_paths if not is_installed(os.path.join(path, ""))]
    for file in code_files:
        folder = os.path.dirname(os.path.abspath(file))
        users += [folder] if is_installed(folder) else [folder, package_of(file)[0]]
    with contextlib.suppress(FileNotFoundError):  # where the program was started may be gone
        users.append(os.getcwd())
    return Places(users, [*others, tempfile.gettempdir()])


def _as_prefixes(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.join(os.path.abspath(one), "") for one in folders if one))


def _measure(folders: Iterable[str], path: str) -> int:
    """How long the path is of the innermost folder that a path is or lies in; 0 for none."""
    path += os.sep
    return max((len(folder) for folder in folders if path.startswith(folder)), default=0)


def is_stokers_variable(variable: str) -> bool:
    """Whether Stoker sets a variable itself, so that what it is says nothing of the program."""
    return variable in _SET_FOR_WORKERS or variable.startswith("STOKER_")


def is_users_variable(variable: str) -> bool:
    """Whether a variable counts though no line of the user's names it: not one of the shell's."""
    is_shells = variable in _OF_THE_SHELL or variable.startswith(_PREFIXES_OF_THE_SHELL)
    return not (is_shells or is_stokers_variable(variable))
