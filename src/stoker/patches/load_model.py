# SPDX-License-Identifier: Apache-2.0
"""Keras 2 and Keras 3: `load_model` of either loads what the other one has saved.

A step's module decides which Keras it trains with, in a process of its own; a notebook that loads
the model has another. In a step it stays an error, whose message names the switch: a training with
half of either Keras ends in worse ones.
"""

import functools
import importlib
import json
import os
import sys
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.any_python.launcher_link import is_at_work
from stoker.any_python.lines import say
from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES

_SAVING = "src.saving.saving_api"
_KERAS = {2: "tf_keras", 3: "keras"}
_PATCHES = {2: PATCHES["tf-keras-load"], 3: PATCHES["keras-load"]}
_OURS = "stoker_original"


def load_models_of_the_other_keras() -> None:
    """Let it be so once either is imported, which this does not do; to repeat it is harmless."""
    for name in _KERAS.values():
        after_import(f"{name}.{_SAVING}", _change_load_model)


def find_keras_of(path: Any) -> int | None:
    """The Keras that saved a model, as far as it can be told: of a SavedModel, or of a .keras."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if os.path.exists(os.path.join(text, "keras_metadata.pb")):
        return 2
    try:
        with zipfile.ZipFile(text) as archive, archive.open("metadata.json") as file:
            return int(json.load(file)["keras_version"].partition(".")[0])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _change_load_model(saving: ModuleType) -> None:
    name = saving.__name__.partition(".")[0]
    own = next(version for version, keras in _KERAS.items() if keras == name)
    _PATCHES[own].check_version()
    _PATCHES[own].check_names(saving, "load_model")
    original = saving.load_model
    if hasattr(original, _OURS):
        return
    changed = _ask_the_other(original, own)
    for module in [one for key, one in sys.modules.items() if key.partition(".")[0] == name]:
        if vars(module).get("load_model") is original:
            replace(module, "load_model", changed)


def _ask_the_other(original: Callable[..., Any], own: int) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_model(filepath: Any, *args: Any, **kwargs: Any) -> Any:
        saved_by = own if is_at_work() else find_keras_of(filepath)
        if saved_by == own or saved_by not in _KERAS:
            return original(filepath, *args, **kwargs)
        other = importlib.import_module(_KERAS[saved_by])
        say(f"{filepath} is a model of Keras {saved_by}, and is loaded by {other.__name__}.")
        return other.models.load_model(filepath, *args, **kwargs)

    setattr(load_model, _OURS, original)
    return load_model
