# SPDX-License-Identifier: Apache-2.0
"""Which Keras `tf.keras` is in a program or a kernel of the user's own: Keras 2, as with TFX.

TFX imports tensorflow_transform, which asks for Keras 2, and whoever wrote for TFX had it anyway. A
step's module decides for itself, in a process of its own (user_code/keras_choice.py). The variable
TF_USE_LEGACY_KERAS decides here too; it is not set, since other programs would inherit it.
"""

import ast
import contextlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.any_python.launcher_link import is_at_work
from stoker.any_python.lines import say
from stoker.patches.changes import after_import, before_import, replace
from stoker.patches.registry import PATCHES

_VARIABLE = "TF_USE_LEGACY_KERAS"
_LOADER = "tensorflow.python.util.lazy_loader"
_API = "tf_keras.api._v2"
_OURS = "stoker_original"


def give_programs_keras_2() -> None:
    """Let it be so once tf.keras is used, which this does not do; to repeat it is harmless."""
    if _is_in_kernel() or _find_program():
        _State.program = _find_program()
        after_import(_LOADER, _change_loader)
        before_import("tensorflow.keras", _put_keras_2_first)


def has_keras_2() -> bool:
    """Whether TensorFlow, as it was imported here, has Keras 2."""
    return os.environ.get(_VARIABLE) in ("1", "true", "True") or _State.is_keras_2 is True


class _State:
    program: str | None = None
    """The file of the program; none in a kernel."""
    is_keras_2: bool | None = None
    """Whether tf.keras is Keras 2, by our choice or the variable; None until it is used."""


def _is_in_kernel() -> bool:
    ipython = sys.modules.get("IPython")
    return bool(ipython and ipython.get_ipython())


def _find_program() -> str | None:
    """The file that Python was started with, if it is the user's: no command, worker or pytest."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if not file:
        return None
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = [sysconfig.get_path(name) for name in ("scripts", "purelib", "platlib", "stdlib")]
    path = os.path.abspath(file)
    return None if path.startswith(tuple(f + os.sep for f in (ours, *installed))) else path


def _choose_keras_2() -> bool:
    from stoker.patches.tf_keras import prepare_keras_2  # `import tfx` is light

    if is_at_work():
        return False
    if _State.is_keras_2 is None:
        is_chosen = _VARIABLE not in os.environ and not _ask_for_keras_3()
        if is_chosen:
            text = "tf.keras is Keras 2 here, as with TFX. For Keras 3, set"
            say(f"{text} {_VARIABLE}=0 before TensorFlow is imported.", error=True)
        _State.is_keras_2 = is_chosen or has_keras_2()
        if _State.is_keras_2:
            prepare_keras_2()
    return _State.is_keras_2


def _ask_for_keras_3() -> bool:
    from stoker.user_code.keras_choice import asks_for_keras_3  # `import tfx` is light

    return any(asks_for_keras_3(_parse(source)) for source in _list_sources())


def _list_sources() -> list[str]:
    """The text of the program, or that of a kernel's cells up to the one that is run."""
    if _State.program is None:
        return [str(cell) for cell in vars(sys.modules["__main__"]).get("In", [])]
    with contextlib.suppress(OSError), open(_State.program, "rb") as file:
        return [file.read().decode(errors="replace")]
    return []


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # of another language: a cell's magic has run it
        return ast.Module(body=[], type_ignores=[])


def _change_loader(module: ModuleType) -> None:
    patch = PATCHES["tensorflow-keras"]
    patch.check_version()
    patch.check_names(module, "KerasLazyLoader")
    patch.check_names(module.KerasLazyLoader, "_initialize")
    original = module.KerasLazyLoader._initialize
    if not hasattr(original, _OURS):
        replace(module.KerasLazyLoader, "_initialize", _choose_before(original))


def _choose_before(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def _initialize(self: Any) -> None:
        if not _choose_keras_2() or _VARIABLE in os.environ:
            original(self)
            return
        os.environ[_VARIABLE] = "1"  # TensorFlow reads it now
        try:
            original(self)
        finally:
            del os.environ[_VARIABLE]

    setattr(_initialize, _OURS, original)
    return _initialize


def _put_keras_2_first() -> None:
    """Let `from tensorflow.keras import …` find the one that `tf.keras` is."""
    if _choose_keras_2() or has_keras_2():
        folder = os.path.dirname(str(importlib.import_module(_API).__file__))
        path = sys.modules["tensorflow"].__path__
        if path[:1] != [folder]:
            path.insert(0, folder)
