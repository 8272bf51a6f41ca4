# SPDX-License-Identifier: Apache-2.0
"""Keras 2 as modules for 2.2 to 2.12 wrote it: arguments that it ignores now, names that it lost.

tf.keras.optimizers.Adam(lr=0.01, decay=1e-4)           lr would be ignored, decay is refused
from tensorflow.keras.mixed_precision import experimental
from keras.layers.recurrent import LSTM
model({"image_xf": images})                             though its one input has another name
model.save(folder, save_format="tf_keras")              any other word than h5 meant a SavedModel
"""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from stoker.errors import MissingPart
from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES

OPTIMIZERS = (
    *("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax"),
    *("Ftrl", "Nadam", "RMSprop", "SGD"),
)
MOVED = {
    **{
        f"layers.{name}": "layers"
        for name in (
            *("advanced_activations", "convolutional", "convolutional_recurrent", "core"),
            *("embeddings", "local", "merge", "noise", "normalization", "pooling", "recurrent"),
            "wrappers",
        )
    },
    **{
        f"{old}{name}": "optimizers.legacy"
        for old in ("optimizer_v2", "optimizers.optimizer_v2")
        for name in ("", *(f".{one.lower()}" for one in OPTIMIZERS))
    },
    "engine.topology": "src.engine.base_layer",
    "objectives": "losses",
}
"""Modules of Keras's first versions, and where their classes are."""
_PLACES = ("tf_keras", "tf_keras.api._v2.keras", "tensorflow.keras")
"""What is reached as `keras`, as an attribute of TensorFlow, and by imports from it."""
_SCIKIT_LEARN = "Call the model itself, or wrap it with scikeras: pip install scikeras."
_GONE = {
    "wrappers.scikit_learn": dict.fromkeys(("KerasClassifier", "KerasRegressor"), _SCIKIT_LEARN),
    "layers.experimental.preprocessing": {
        "CategoryCrossing": "Use tf.keras.layers.HashedCrossing."
    },
    "keras.experimental": {"PeepholeLSTMCell": "Use tf.keras.layers.LSTMCell."},
}
"""What no version has that Stoker runs with, by the module that it was in."""


def provide_older_keras() -> None:
    """Let older arguments and names work; to be called once Keras 2 is imported."""
    import tf_keras

    PATCHES["tf-keras-older"].check_version(tf_keras.__version__)
    for name in OPTIMIZERS:
        _take_older_arguments(getattr(tf_keras.optimizers, name), tf_keras.optimizers.schedules)
    _take_the_one_feature()
    _take_any_save_format()
    for place in _PLACES:
        after_import(place, _add_wrappers)
        after_import(f"{place}.mixed_precision", _add_experimental)
        for module in ("experimental", "layers.experimental.preprocessing"):
            after_import(f"{place}.{module}", _refuse)


def _take_older_arguments(optimizer: type[Any], schedules: Any) -> None:
    """Let `lr` mean learning_rate, and `decay` what it did: a rate that falls with every step."""
    construct: Callable[..., None] = optimizer.__init__
    if hasattr(construct, "__wrapped__"):
        return
    signature = inspect.signature(construct)

    @functools.wraps(construct)
    def construct_with_older(*args: Any, **given: Any) -> None:
        if "lr" in given:
            given["learning_rate"] = given.pop("lr")
        if decay := given.pop("decay", None):
            call = signature.bind(*args, **given)
            call.apply_defaults()
            rate = call.arguments["learning_rate"]
            call.arguments["learning_rate"] = schedules.InverseTimeDecay(rate, 1, decay)
            args, given = call.args, call.kwargs
        construct(*args, **given)

    replace(optimizer, "__init__", construct_with_older)


def _take_the_one_feature() -> None:
    """Let a model with one input be called with a dict of one feature, whatever that is called.

    A Functional model already takes such a dict by its order; only the check before it refuses.
    """
    from tf_keras.src.engine import input_spec

    patch = PATCHES["tf-keras-one-input"]
    patch.check_names(input_spec, "assert_input_compatibility")
    check = input_spec.assert_input_compatibility
    if hasattr(check, "__wrapped__"):
        return
    patch.check_parameters(check, "input_spec", "inputs", "layer_name")

    @functools.wraps(check)
    def check_one_by_itself(input_spec: Any, inputs: Any, layer_name: str) -> None:
        specs = input_spec if isinstance(input_spec, list | tuple) else [input_spec]
        if isinstance(inputs, dict) and len(inputs) == len(specs) == 1:
            (inputs,) = inputs.values()
        check(input_spec, inputs, layer_name)

    replace(input_spec, "assert_input_compatibility", check_one_by_itself)


def _take_any_save_format() -> None:
    """Let a save_format that Keras does not know mean a SavedModel."""
    from tf_keras.src.saving import saving_api

    patch = PATCHES["tf-keras-save-format"]
    patch.check_names(saving_api, "get_save_format")
    find = saving_api.get_save_format
    if hasattr(find, "__wrapped__"):
        return
    patch.check_parameters(find, "filepath", "save_format")

    @functools.wraps(find)
    def find_save_format(filepath: Any, save_format: Any) -> Any:
        known = ("h5", "hdf5", "keras", "keras_v3", "tensorflow", "tf")
        return find(filepath, "tf" if save_format and save_format not in known else save_format)

    replace(saving_api, "get_save_format", find_save_format)


def _add_experimental(mixed_precision: ModuleType) -> None:
    def get_layer_policy(layer: Any) -> Any:
        """The policy of a layer."""
        return layer.dtype_policy

    members = {
        "LossScaleOptimizer": mixed_precision.LossScaleOptimizer,
        "Policy": mixed_precision.Policy,
        "get_layer_policy": get_layer_policy,
        "global_policy": mixed_precision.global_policy,
        "set_policy": mixed_precision.set_global_policy,
    }
    _add_module(mixed_precision, "experimental", members)


def _add_wrappers(keras: ModuleType) -> None:
    wrappers = _add_module(keras, "wrappers", {})
    _refuse(_add_module(wrappers, "scikit_learn", {}))


def _add_module(package: ModuleType, last_name: str, members: Mapping[str, Any]) -> ModuleType:
    name = f"{package.__name__}.{last_name}"
    module = sys.modules.setdefault(name, ModuleType(name))
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    vars(module).update(members)
    vars(package)[last_name] = module
    return module


def _refuse(module: ModuleType) -> None:
    names = next(names for end, names in _GONE.items() if module.__name__.endswith(end))

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in names:
            raise MissingPart(f"{module.__name__}.{name} left Keras. {names[name]}", name=name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    vars(module)["__getattr__"] = __getattr__
