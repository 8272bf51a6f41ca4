# SPDX-License-Identifier: Apache-2.0
"""The process that each step needs, decided by the runner before anything is started."""

import os
import sys
from dataclasses import replace
from typing import Any

from stoker.dsl.component import BaseComponent
from stoker.dsl.pipeline import Pipeline
from stoker.errors import StokerError
from stoker.launchers.interpreters import Interpreter
from stoker.launchers.interpreters import resolve as resolve_python
from stoker.task import ProcessNeeds
from stoker.user_code.imports import find_module
from stoker.user_code.keras_choice import choose_keras, users_environ
from stoker.user_code.strategies import cluster_for

__all__ = ["find_process_needs", "import_paths"]


def find_process_needs(pipeline: Pipeline, given: dict[str, Any]) -> dict[str, ProcessNeeds]:
    """The process that each step needs; where either Keras will do, it is that of another step."""
    found = {
        node.id: _find_needs(node, node.spec.values(given))
        for node in pipeline.components
        if isinstance(node, BaseComponent)
    }
    keras = next((one.keras for one in found.values() if one.keras), None)
    for node_id, one in found.items():
        if one.tensorflow and not (one.keras or one.python):
            found[node_id] = replace(one, keras=keras)
    return found


def _find_needs(node: BaseComponent, parameters: dict[str, Any]) -> ProcessNeeds:
    """The process that a step needs; one of ours that loads no user code needs little."""
    code = node.user_code(parameters)
    if code is None:
        return ProcessNeeds(tensorflow=node.USES_TENSORFLOW, preload=node.PRELOAD)
    paths = import_paths()
    file = code.module_file or (code.module and find_module(code.module, paths))
    chosen = choose_keras(file, explicit=code.keras, environ=users_environ(), import_paths=paths)
    if code.python:
        return _find_needs_elsewhere(node, resolve_python(code.python), chosen)
    chosen = replace(chosen, cluster=cluster_for(node.workers, file, chosen, paths))
    if node.USES_TENSORFLOW and not chosen.tensorflow:
        chosen = replace(chosen, tensorflow=True, keras=2, reason="its module names no Keras.")
    return replace(chosen, preload=(*chosen.preload, *node.PRELOAD))


def _find_needs_elsewhere(
    node: BaseComponent, there: Interpreter, chosen: ProcessNeeds
) -> ProcessNeeds:
    """The process of a step whose code runs in another interpreter."""
    if chosen.tensorflow and not there.tensorflow:
        raise StokerError(
            f"{node.id} needs TensorFlow, and there is none in {there.path}. Install it there, or "
            "make an environment that has it: stoker env create tf-2.15."
        )
    return ProcessNeeds(
        tensorflow=chosen.tensorflow, python=there.path, reason=f"{there}, at {there.path}"
    )


def import_paths() -> tuple[str, ...]:
    """Where user code finds its imports: as this program does."""
    return tuple(path or os.getcwd() for path in sys.path)
