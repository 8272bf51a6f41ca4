# SPDX-License-Identifier: Apache-2.0
"""Runs in the environment `tfjs`: SAVED_MODEL FOLDER SIGNATURE, and a graph model is in FOLDER."""

import importlib.machinery
import sys
import types


class _Absent(types.ModuleType):
    """A package that tensorflowjs imports for kinds of models other than SavedModels."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)


for _name in ("flax", "jax", "jax.experimental", "jax.experimental.jax2tf"):
    sys.modules[_name] = _Absent(_name)
sys.modules["tensorflow_decision_forests"] = _Absent("tensorflow_decision_forests")
for _module in list(sys.modules.values()):
    if isinstance(_module, _Absent):
        _module.__spec__ = importlib.machinery.ModuleSpec(_module.__name__, None)

from tensorflowjs.converters import tf_saved_model_conversion_v2  # noqa: E402

tf_saved_model_conversion_v2.convert_tf_saved_model(
    sys.argv[1], sys.argv[2], signature_def=sys.argv[3]
)
