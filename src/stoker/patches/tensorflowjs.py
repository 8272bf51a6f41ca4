# SPDX-License-Identifier: Apache-2.0
"""tensorflowjs: it converts SavedModels without the packages that it wants for other models.

A program for the environment `tfjs`: SAVED_MODEL FOLDER SIGNATURE, and a graph model is in FOLDER.
Run it with `python -I`: the files beside it have the names of libraries.
"""

import importlib.machinery
import sys
import types

_FOR_OTHER_MODELS = (
    *("flax", "jax", "jax.experimental", "jax.experimental.jax2tf"),
    "tensorflow_decision_forests",
)


class _Absent(types.ModuleType):
    """A package that tensorflowjs imports for kinds of models other than SavedModels."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)


def main() -> None:
    """Convert the SavedModel that the arguments name."""
    for name in _FOR_OTHER_MODELS:
        sys.modules[name] = _Absent(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    from tensorflowjs.converters import tf_saved_model_conversion_v2

    tf_saved_model_conversion_v2.convert_tf_saved_model(
        sys.argv[1], sys.argv[2], signature_def=sys.argv[3]
    )


if __name__ == "__main__":
    main()
