# SPDX-License-Identifier: Apache-2.0
"""An error in a line of the user's, as that line and a sentence: what was refused, or is missing.

`stoker run FILE`, `python FILE` and a notebook's cell end with the same words. What is wrong in any
other way is for Python's own traceback to say.
"""

import importlib
import linecache
import re
import sys
import traceback
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from stoker.any_python.failures import StokerError, is_all_wanted
from stoker.any_python.lines import escape_controls
from stoker.any_python.own_code import OUR_PLACES, is_users_file
from stoker.errors import MissingModule
from stoker.views.table import readable_path

_SAYS_ALL = "stoker_says_all"
_SHOW = "_render_traceback_"
"""What IPython asks an error for before it shows its way through the code."""
_ON_THE_WAY = re.compile(
    r"[/\\](site|dist)-packages[/\\](keras|tensorflow|tf_keras)[/\\]|^<frozen "
)
"""The files between a user's line and the name that TensorFlow or Keras does not have."""
NEEDS_GRAPH = (
    "a Session runs a graph, and TensorFlow 2 ran the lines before it at once. Put "
    "tf.compat.v1.disable_eager_execution() after `import tensorflow as tf`."
)

Frames = Sequence[tuple[FrameType, int]]


def describe_users_error(error: BaseException) -> str:
    """`FILE:LINE: what is wrong, and what to do`; empty where a traceback tells more."""
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [place for place, (frame, _) in enumerate(frames) if _is_users(frame)]
    if not own or hasattr(error, _SAYS_ALL):
        return ""
    frame, line = frames[own[-1]]
    file, inner = _get_file(frame), frames[own[-1] + 1 :]
    said = _advise(error, inner, linecache.getline(file, line))
    if not said and _is_refused_by_us(error, inner):
        said = str(error.args[0] if isinstance(error, KeyError) else error)
    return f"{_name_place(file, line)}: {said}" if said else ""


def _name_place(file: str, line: int) -> str:
    shell = _get_shell()
    if shell and (cell := shell.compile.format_code_name(file)):
        return f"{' '.join(cell)}, line {line}"
    return f"{readable_path(file)}:{line}"


def _is_users(frame: FrameType) -> bool:
    # What dataclasses make for ours has no file, as a program that is given to python -c.
    is_ours = str(frame.f_globals.get("__name__")).partition(".")[0] == "stoker"
    return is_users_file(_get_file(frame)) and not is_ours


def say_all(error: BaseException) -> None:
    """Note of an error that its own words say all, as those of a failed run do."""
    setattr(error, _SAYS_ALL, True)


def tell_users_errors() -> None:
    """Let a program, or a cell, that ends by such an error end with these words alone.

    Whoever has a hook of their own keeps it.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _end_program
    shell = _get_shell()
    if shell and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _end_cell)


def _get_shell() -> Any:
    """The IPython of a notebook's kernel; none in other programs."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def _end_cell(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    if not hasattr(error, _SHOW) and not is_all_wanted() and (said := describe_users_error(error)):
        setattr(error, _SHOW, lambda: [f"stoker: {escape_controls(said)}"])
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _end_program(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    said = (str(error) or "Stopped.") if hasattr(error, _SAYS_ALL) else describe_users_error(error)
    if said and not is_all_wanted():
        sys.stderr.write(f"stoker: {escape_controls(said)}\n")
    else:
        sys.__excepthook__(kind, error, trace)


def _advise(error: BaseException, inner: Frames, line: str) -> str:
    """What to do about a name or a package that the user's own line asks for."""
    from stoker.user_code.installed_names import missing_name_hint  # for programs that fail
    from stoker.user_code.known_packages import find_package

    is_direct = all(_is_on_the_way(_get_file(frame)) for frame, _ in inner)
    if not is_direct or isinstance(error, StokerError):
        return ""
    hint = missing_name_hint(error, line) or _advise_without_member(error) or _advise_graph(error)
    if hint:
        return hint
    if isinstance(error, ModuleNotFoundError) and error.name and not inner:
        top = error.name.partition(".")[0]
        return find_package(top).describe(top)
    return ""


def _advise_graph(error: BaseException) -> str:
    """What to do where a Session of TensorFlow 1 is given what TensorFlow 2 has computed."""
    if not re.match("The Session graph is empty|Fetch argument .* EagerTensor", str(error), re.S):
        return ""
    return NEEDS_GRAPH


def _advise_without_member(error: BaseException) -> str:
    """What to do about a name that a module of ours does not have."""
    from stoker.user_code.installed_names import describe_missing_member, find_missing

    module, name = find_missing(error)
    owner = sys.modules.get(module)
    if not name or not (getattr(owner, "__file__", None) or "").startswith(OUR_PLACES):
        return ""
    if hasattr(owner, "__path__"):
        try:
            importlib.import_module(f"{module}.{name}")  # our packages tell of what they have not
        except MissingModule as missing:
            return str(missing)
    return describe_missing_member(module, name)


def _is_on_the_way(path: str) -> bool:
    return bool(_ON_THE_WAY.search(path)) or path.startswith(OUR_PLACES)


def _is_refused_by_us(error: BaseException, inner: Frames) -> bool:
    """Whether we raised it on purpose, such as for a wrong argument."""
    if not inner or not _get_file(inner[-1][0]).startswith(OUR_PLACES):
        return False
    frame, line = inner[-1]
    raising = linecache.getline(_get_file(frame), line).strip().startswith("raise")
    return raising or isinstance(error, StokerError)


def _get_file(frame: FrameType) -> str:
    return frame.f_code.co_filename
