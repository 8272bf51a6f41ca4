# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 1: a user's code finds the names that TensorFlow 2 keeps in `tf.compat.v1`.

`tf.logging`, `tf.placeholder` and `tf.train.AdamOptimizer` are there, and gone from where code of
2019 looks for them. Installed packages see TensorFlow as it is: some tell by such a name which one
they have.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.any_python.launcher_link import is_at_work
from stoker.any_python.own_code import is_users_file
from stoker.patches.changes import after_import
from stoker.patches.registry import PATCHES

_METHODS = ("make_initializable_iterator", "make_one_shot_iterator")
"""What datasets had, and `tf.compat.v1.data` has as functions."""


def find_names_of_tensorflow_1() -> None:
    """Let it be so once TensorFlow is imported, which this does not do."""
    after_import("tensorflow", _add_names)


def _add_names(tensorflow: ModuleType) -> None:
    from stoker.user_code.installed_names import PARTS  # `import tfx` does without it

    PATCHES["tensorflow-1-names"].check_version()
    for part in PARTS:
        owner = getattr(tensorflow, part) if part else tensorflow
        vars(owner).setdefault("__getattr__", _look_in_compat(tensorflow, part))
    for name in _METHODS:
        if not hasattr(tensorflow.data.Dataset, name):
            setattr(tensorflow.data.Dataset, name, getattr(tensorflow.compat.v1.data, name))


def _look_in_compat(tensorflow: ModuleType, part: str) -> Callable[[str], Any]:
    prefix = f"{part}." if part else ""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if not name.startswith("_") and is_users_file(sys._getframe(1).f_code.co_filename):
            older = tensorflow.compat.v1
            older = getattr(older, part) if part else older
            if name in vars(older):
                return getattr(older, name)
            if not part and name == "contrib":
                raise AttributeError(_describe_contrib())
        raise AttributeError(f"module 'tensorflow' has no attribute '{prefix}{name}'")

    return __getattr__


def _describe_contrib() -> str:
    environment = (
        ", or train with the environment that has it: stoker env create tf-1.15, and "
        "Trainer(python='tf-1.15')"
    )
    return f"tf.contrib ended with TensorFlow 1. Use what replaced it{environment * is_at_work()}."
