# SPDX-License-Identifier: Apache-2.0
"""What a worker's process finds around it: the program's paths, arguments, flags, root and seeds,
and the model's folder, ready to be written to.

Of absl's flags the runner sends what each was set to, not the command line: a worker loads only
some of the files that define flags, and a command line cannot be read without all of them.

TensorFlow looks for the variables of a model by a pattern, which is the path itself: it cannot load
what lies below a folder such as `run[1]`. A worker sees such a root through a link without
brackets, and tells the runner of the paths that the runner knows.

Seeds of shuffles that are given none are fresh in every run, and alike in all workers of a group.
The n-th such shuffle of a process depends on n and on one number, the entropy. Whoever sets the
entropy that an earlier run had gets that run's shuffles again.

Some modules write into `fn_args.serving_model_dir` straight away; those written for TFX make it, or
move a folder to its place, and would fail where it is. So the first to make it succeeds, as long as
it is empty:

    os.mkdir                          and so os.makedirs, Path.mkdir, shutil.copytree
    shutil.move of a folder           it would go into the one that is there
    tf.io.gfile.rename, fileio.rename they would not overwrite it

tf.io.gfile.mkdir and os.rename take an empty folder as it is. Programs that the user's code starts
see an empty folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import secrets
import shutil
import sys
import tempfile
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

FlagArguments = Mapping[str, Sequence[str]]
_READ_ALL = (
    *("flag_values_dict", "flags_by_module_dict", "flags_by_module_id_dict", "flags_into_string"),
    *("get_flags_for_module", "get_key_flags_for_module", "key_flags_by_module_dict"),
)
_taken_over: FlagArguments | None = None
_listener: Callable[[str], None] | None = None
_entropy_given: list[int] = []
_numbers = itertools.count()
_ready: dict[str, tuple[int, int]] = {}
"""The folders that nobody has made but us, and what the file system knows them by."""


def take_over_program(
    import_paths: Sequence[str], argv: Sequence[str], flags: FlagArguments | None
) -> None:
    """Let this process import what the program could, and see its command line."""
    sys.path[:] = list(dict.fromkeys([*import_paths, *sys.path]))
    if argv:
        sys.argv = list(argv)
    take_over_flags(flags)


def use_temporary_dir(folder: str) -> None:
    """Let this process, and those that it starts, make their temporary files in a folder.

    One that is not there, as on a machine that does not share it, leaves everything as it is.
    """
    if os.path.isdir(folder):
        os.environ["TMPDIR"] = tempfile.tempdir = folder


class PlainRoot:
    """What a root is called in a worker; it keeps its name unless there are brackets in it."""

    def __init__(self, root_dir: str) -> None:
        has_brackets = "[" in root_dir
        self._root = root_dir if has_brackets else ""
        self._link = _make_link(root_dir) if has_brackets else ""

    @property
    def is_renamed(self) -> bool:
        """Whether there is another name for it."""
        return bool(self._root)

    def enter(self, text: str) -> str:
        """The JSON of a task, with the paths that the worker is to see."""
        if not self._root:
            return text
        return re.sub(re.escape(_quote(self._root)) + r'(?=[/"])', lambda _: self._link, text)

    def leave(self, text: str) -> str:
        """The JSON of an outcome, with the paths that the runner knows."""
        return text.replace(self._link, _quote(self._root)) if self._root else text


def _quote(path: str) -> str:
    return json.dumps(path)[1:-1]


def _make_link(root: str) -> str:
    """A link to the root that all its workers share: what a checkpoint names is there again."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    for folder in ("/tmp", "/var/tmp", tempfile.gettempdir()):
        link = os.path.join(folder, f"stoker-{os.getuid()}-{name}")
        with contextlib.suppress(FileExistsError):
            os.symlink(root, link)
        # Where everybody may write, somebody else may have made it.
        if os.lstat(link).st_uid == os.getuid() and os.readlink(link) == root:
            return link
    raise OSError(f"No other name can be made for {root}, which TensorFlow needs. Rename the root.")


def flags_of_this_program() -> FlagArguments | None:
    """The arguments that give each flag its present value, by name; None without flags.

    What a program sets without a command line counts too: `logging.set_verbosity` sets a flag.
    """
    flags = _find_flags()
    changed = [name for name in flags or () if _is_set(name, flags[name])]
    if changed or (flags is not None and flags.is_parsed()):
        return {name: _make_arguments(flags[name]) for name in changed}
    return None


def take_over_flags(arguments: FlagArguments | None) -> None:
    """Remember the program's flags, for `fill_in_flags`."""
    global _taken_over
    _taken_over = arguments


def fill_in_flags() -> None:
    """Give flags that a newly loaded file has defined the values that they have in the program."""
    _watch_flags()
    flags = _find_flags()
    if flags is None or _taken_over is None:
        return
    new = [name for name in _taken_over if name in flags and flags[name].using_default_value]
    flags([sys.argv[0], *(argument for name in new for argument in _taken_over[name])])


def _find_flags() -> Any:
    """The flags of this process; None if nothing has imported absl's."""
    absl_flags = sys.modules.get("absl.flags")
    return absl_flags and absl_flags.FLAGS


def _is_set(name: str, flag: Any) -> bool:
    """Whether a flag has a value of its own; a short name is the flag's second one."""
    return name == flag.name and not flag.using_default_value


def _make_arguments(flag: Any) -> list[str]:
    """`--name=value`, once for each value; nothing for None, which has no argument."""
    option = f"--{flag.name}="
    first, *more = flag.serialize().split(f"\n{option}")
    return [first, *(option + value for value in more)] if first else []


def tell_reads(listener: Callable[[str], None] | None) -> None:
    """Tell which flags are read from now on; with None, nobody."""
    global _listener
    _listener = listener
    _watch_flags()


def _watch_flags() -> None:
    flags = _find_flags()
    if flags is not None and not hasattr(type(flags), "is_watched"):
        object.__setattr__(flags, "__class__", _make_watched_class(type(flags)))


def _make_watched_class(kind: Any) -> Any:
    class WatchedFlags(kind):  # type: ignore[misc]
        is_watched = True

        def __getattr__(self, name: str) -> Any:
            _tell(self, [name])
            return super().__getattr__(name)

        def __getitem__(self, name: str) -> Any:
            _tell(self, [name])
            return super().__getitem__(name)

    def tell_all(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            _tell(self, self._flags())
            return method(self, *args, **kwargs)

        return call

    for name in _READ_ALL:
        if hasattr(kind, name):
            setattr(WatchedFlags, name, tell_all(getattr(kind, name)))
    return WatchedFlags


def _tell(flags: Any, names: Iterable[str]) -> None:
    code, module = sys._getframe(2).f_code, str(sys._getframe(2).f_globals.get("__name__"))
    # absl reads flags of its own, and every flag while it is defined.
    is_absls = module.startswith("absl.") and code.co_name not in ("value", "get_flag_value")
    if _listener and not is_absls:
        for name in names:
            if name in flags:
                _listener(flags._flags()[name].name)


def fresh_seed() -> int:
    """The seed of the next shuffle."""
    return _hash(f"{entropy()} {next(_numbers)}")


def entropy() -> int:
    """What the seeds of this process depend on."""
    return _entropy_given[-1] if _entropy_given else _draw()


def set_entropy(number: int) -> None:
    """Begin again, with the seeds that a process with this entropy draws."""
    global _numbers
    _entropy_given[:] = [number]
    _numbers = itertools.count()


def cluster() -> dict[str, Any]:
    """The addresses of the processes that train together, by task; empty if there is only one."""
    found: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster") or {}
    return found


@functools.lru_cache(None)
def _draw() -> int:
    """Entropy of the machine; in a worker group of its addresses, new in every attempt."""
    addresses = json.dumps(cluster(), sort_keys=True)
    if addresses == "{}":
        return secrets.randbits(63)
    return _hash(addresses)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


@contextlib.contextmanager
def keep_ready(folder: str) -> Iterator[None]:
    """Make a folder, unless it is there; if it is still empty at the end, it is gone again."""
    if os.path.exists(folder):
        yield
        return
    os.makedirs(folder)
    found = os.stat(folder)
    _ready[folder] = found.st_dev, found.st_ino
    try:
        with _replace_makers():
            yield
    finally:
        make_way(folder)
        _ready.pop(folder, None)


def claim(path: Any) -> bool:
    """Whether this is such a folder, empty, which nobody has claimed: now it counts as made."""
    for folder, identity in list(_ready.items()):
        if _identify(folder) != identity:  # the user's code has removed it
            del _ready[folder]
        elif _identify(path) == identity and not os.listdir(folder):
            del _ready[folder]
            return True
    return False


def make_way(path: Any) -> None:
    """Remove such a folder: another one is about to be moved to its place."""
    if claim(path):
        os.rmdir(path)


def let_make(mkdir: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a folder, which has nothing to do where it is ready."""

    @functools.wraps(mkdir)
    def make(path: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dir_fd") is None and claim(path):
            return None
        return mkdir(path, *args, **kwargs)

    return make


def let_move(move: Callable[..., Any]) -> Callable[..., Any]:
    """A function that moves, which finds no folder where only a ready one is in the way."""

    @functools.wraps(move)
    def move_there(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.isdir(src):  # a file goes into the folder
            make_way(dst)
        return move(src, dst, *args, **kwargs)

    return move_there


def _identify(path: Any) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, TypeError, ValueError):  # what is no path fails where it is used
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _replace_makers() -> Iterator[None]:
    changes = [(os, "mkdir", let_make(os.mkdir)), (shutil, "move", let_move(shutil.move))]
    accessor: Any = getattr(pathlib, "_NormalAccessor", None)
    if hasattr(accessor, "mkdir"):  # up to Python 3.10, pathlib has one of its own
        changes.append((accessor, "mkdir", staticmethod(let_make(os.mkdir))))
    with contextlib.ExitStack() as undo:
        for owner, name, new in changes:
            undo.callback(setattr, owner, name, vars(owner)[name])
            setattr(owner, name, new)
        yield
