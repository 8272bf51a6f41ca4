# SPDX-License-Identifier: Apache-2.0
"""Makes a worker's process mean one Keras, before and after it imports TensorFlow.

With Keras 2, the name `keras` means `tf_keras`: modules that mix `keras` and `tf.keras`, and
libraries such as keras_tuner, then see the same classes.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from stoker.task import ProcessNeeds
from stoker.user_code.keras_choice import KERAS_VARIABLE

__all__ = ["alias_keras", "prepare_keras"]


def prepare_keras(needs: ProcessNeeds) -> None:
    """Decide Keras for this process; TensorFlow must not have been imported in it."""
    if needs.keras is None:
        return
    if "tensorflow" in sys.modules:
        raise RuntimeError(
            f"Keras {needs.keras} cannot be chosen: TensorFlow is already imported in this "
            "process. Run the step in a process of its own, with the `processes` launcher."
        )
    os.environ[KERAS_VARIABLE] = "1" if needs.keras == 2 else "0"


def alias_keras() -> None:
    """Make `keras` and every module below it mean `tf_keras`, now and in later imports.

    To be called after TensorFlow was imported with Keras 2; a second call changes nothing.
    """
    tf_keras = importlib.import_module("tf_keras")
    # This is what `tf.keras` means; it lost its version when it left TensorFlow.
    vars(importlib.import_module("tf_keras.api._v2.keras"))["__version__"] = tf_keras.__version__
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())
    for name in [name for name in sys.modules if _is_keras(name)]:
        del sys.modules[name]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tf_keras"]:
        sys.modules[name.removeprefix("tf_")] = sys.modules[name]


def _is_keras(name: str) -> bool:
    return name.partition(".")[0] == "keras"


class _AliasFinder(MetaPathFinder):
    """Answers `import keras.x.y` with the module `tf_keras.x.y` itself."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_keras(fullname) or importlib.util.find_spec(f"tf_{fullname}") is None:
            return None
        return ModuleSpec(fullname, _AliasLoader())


class _AliasLoader(Loader):
    """Puts the real module in the place of the one that the import system made."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(f"tf_{name}")
