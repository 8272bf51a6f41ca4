# SPDX-License-Identifier: Apache-2.0
"""Estimators: `tf.estimator` is there again for user code that wants it, and is watched.

TensorFlow 2.16 dropped Estimators. Their package, tensorflow-estimator 2.15, is pure Python; all
that it lacks there are a few private names of TensorFlow, which are put back before it is imported.
Only such a worker is changed: elsewhere nothing is imported, and TensorFlow is as it came.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.any_python.logs import hush_deprecations
from stoker.errors import MissingPart
from stoker.patches.changes import replace
from stoker.patches.registry import PATCHES
from stoker.patches.tf_keras import alias_keras, prepare_keras
from stoker.task import ProcessNeeds
from stoker.user_code.keras_choice import uses_keras_2

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]

_API = "tensorflow_estimator.python.estimator.api"
_NEEDED_BY_TPU_ESTIMATOR = ("session_support", "tpu_embedding", "tpu_embedding_gradient")


def enable_estimators() -> None:
    """Make `tf.estimator` work in this process; where it does already, this changes nothing."""
    if "tensorflow" not in sys.modules and not os.environ.get("TF_USE_LEGACY_KERAS"):
        prepare_keras(ProcessNeeds(tensorflow=True, keras=2))
    tensorflow: Any = importlib.import_module("tensorflow")
    if hasattr(tensorflow, "estimator"):
        return
    _check_versions(tensorflow.__version__)
    if not uses_keras_2(os.environ):
        raise ValueError(
            "Estimators are built on Keras 2, and this process has Keras 3. Leave out "
            "Trainer(keras=3) and TF_USE_LEGACY_KERAS=0."
        )
    alias_keras()
    hush_deprecations()  # nearly every line of an Estimator's code would cause one
    _put_back()
    v1, v2 = (importlib.import_module(f"{_API}._v{version}.estimator") for version in (1, 2))
    for where, api in {"": v2, ".compat.v1": v1, ".compat.v2": v2}.items():
        importlib.import_module(f"tensorflow{where}").estimator = api  # type: ignore[attr-defined]
        sys.modules[f"tensorflow{where}.estimator"] = api


def wrap_estimators(wrap_train: Wrap, wrap_evaluate: Wrap) -> contextlib.ExitStack:
    """Put wrappers in the place of `train` and `evaluate`, if Estimators have been imported."""
    undo = contextlib.ExitStack()
    if module := sys.modules.get("tensorflow_estimator.python.estimator.estimator"):
        PATCHES["estimator-hooks"].check_version()
        estimator: Any = module.Estimator
        undo.enter_context(replace(estimator, "train", wrap_train(estimator.train)))
        undo.enter_context(replace(estimator, "evaluate", wrap_evaluate(estimator.evaluate)))
    return undo


def _check_versions(tensorflow: str) -> None:
    # What is put back is private: a version that was not tried is refused.
    patch = PATCHES["tensorflow-estimators"]
    if not patch.fits(tensorflow):
        raise MissingPart(
            f"Stoker can give Estimators back to TensorFlow {patch.tried}, and this is "
            f"{tensorflow}. Install one of those, or train with Keras."
        )
    hooks = PATCHES["estimator-hooks"]
    found = hooks.installed_version()
    if not (found and hooks.fits(found)):
        raise MissingPart(
            f"Estimators need tensorflow-estimator {hooks.tried}, which is "
            f"{found or 'not there'}. Install it: pip install 'stoker[estimator]'."
        )


def _put_back() -> None:
    """The names that tensorflow-estimator imports from TensorFlow and that are gone there."""
    tf_export = importlib.import_module("tensorflow.python.util.tf_export")
    tf_export.ESTIMATOR_API_NAME = "estimator"  # type: ignore[attr-defined]
    for attributes, ending in ((tf_export.API_ATTRS, ""), (tf_export.API_ATTRS_V1, "_v1")):
        like = type(attributes[tf_export.TENSORFLOW_API_NAME])
        attributes["estimator"] = like(
            f"_estimator_api_names{ending}", f"_estimator_api_constants{ending}"
        )
    training = ModuleType("tensorflow.python.distribute.estimator_training")
    training.init_run_config = _init_run_config  # type: ignore[attr-defined]
    training.should_run_distribute_coordinator = lambda _: False  # type: ignore[attr-defined]
    sys.modules[training.__name__] = training
    for name in _NEEDED_BY_TPU_ESTIMATOR:
        sys.modules[f"tensorflow.python.tpu.{name}"] = _Placeholders(
            f"tensorflow.python.tpu.{name}"
        )


def _init_run_config(config: Any, tf_config: dict[str, Any]) -> None:
    """What a RunConfig with a distribution strategy asks for: where this process stands."""
    if tf_config.get("cluster"):
        raise ValueError(
            "RunConfig has a distribution strategy and TF_CONFIG a cluster, and an Estimator takes "
            "one of the two here. For parameter servers leave out the strategy, for this machine's "
            "devices TF_CONFIG."
        )
    wanted = config._experimental_distribute
    for name in ("train_distribute", "eval_distribute"):
        if chosen := getattr(wanted, name, None):
            setattr(config, f"_{name}", chosen)
    config._distribute_coordinator_mode = None
    config._init_distributed_setting_from_environment_var(tf_config)


class _Placeholders(ModuleType):
    """A module that TPUEstimator imports and nothing else uses: every name in it is a class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = type(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made
