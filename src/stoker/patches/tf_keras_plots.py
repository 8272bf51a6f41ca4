# SPDX-License-Identifier: Apache-2.0
"""Keras 2 where Graphviz is not installed: `plot_model` says so, and draws nothing.

Modules draw their model in the last line of `run_fn`. Keras raises there, unless it finds itself in
a notebook, and a training that has saved its model would have failed.
"""

import functools
from types import ModuleType
from typing import Any

from stoker.any_python.lines import say
from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES

_PLACES = ("tf_keras.src.utils.vis_utils", "tf_keras.utils", "tf_keras.api._v2.keras.utils")


def go_on_without_graphviz() -> None:
    """Let a training end well without a drawing; to be called once Keras 2 is imported."""
    for place in (*_PLACES, "tensorflow.keras.utils"):
        after_import(place, _change_plot_model)


def _change_plot_model(module: ModuleType) -> None:
    patch = PATCHES["tf-keras-plots"]
    patch.check_version()
    patch.check_names(module, "plot_model")
    plot = module.plot_model
    if hasattr(plot, "__wrapped__"):
        return

    @functools.wraps(plot)
    def plot_model(model: Any, *args: Any, **given: Any) -> Any:
        from tf_keras.src.utils.vis_utils import check_graphviz

        if model.built and not check_graphviz():
            say("plot_model draws nothing: there is no Graphviz. Install graphviz and pydot.")
            return None
        return plot(model, *args, **given)

    replace(module, "plot_model", plot_model)
