# SPDX-License-Identifier: Apache-2.0
"""A published SavedModel as a model of MLflow, which `mlflow.pyfunc.load_model` loads.

It is called by its signature, whose inputs and outputs are those of the MLflow model. To log it
takes no TensorFlow, and to load it no Stoker.
"""

import importlib.metadata
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
from mlflow import pyfunc
from mlflow.models import Model, ModelSignature
from mlflow.types import Schema, TensorSpec

from stoker.any_python.layout import serving_model_path

_SERVING_DEFAULT = "serving_default"
_SAVED_MODEL = "saved_model"
_TENSORS = Mapping[str, Mapping[str, Any]]


def log_model(experiment: str, run: str, name: str, output: Mapping[str, Any]) -> None:
    """Log the SavedModel of a Model that an event describes, if it has one."""
    try:
        folder = serving_model_path(output["uri"])
    except ValueError:  # an EvalSavedModel, and nothing to serve
        return
    if not os.path.isfile(os.path.join(folder, "saved_model.pb")):
        return
    tags, signatures = _find_signatures(folder, output["properties"].get("signatures"))
    if not signatures:
        return  # there is nothing in it that MLflow could call
    key = _SERVING_DEFAULT if _SERVING_DEFAULT in signatures else sorted(signatures)[0]
    mlflow.set_experiment(experiment_id=experiment)
    Model.log(
        artifact_path=None,
        name=name.replace("/", "_").replace(":", "_").replace(".", "_"),
        flavor=SimpleNamespace(save_model=_save_model),
        flavor_name="tensorflow",
        run_id=run,
        folder=folder,
        tags_of_graph=tags,
        key=key,
        signature=_make_signature(signatures[key]),
    )


def _find_signatures(folder: str, recorded: Any) -> tuple[list[str], Mapping[str, Any]]:
    """The signatures as the model check has read them; where there was none, they are read now."""
    found = json.loads(recorded) if isinstance(recorded, str) else recorded
    at_top = {name: one for name, one in (found or {}).items() if "/" not in name}
    if at_top:
        return ["serve"], at_top
    from stoker.models.saved_model import choose_graph, read_graphs  # TensorFlow

    graph = choose_graph(read_graphs(folder), "serve")
    return sorted(graph.tags), {name: one.to_dict() for name, one in graph.signatures.items()}


def _make_signature(signature: Mapping[str, _TENSORS]) -> ModelSignature | None:
    """None where a tensor has a shape or a type that MLflow has no word for."""
    try:
        return ModelSignature(
            inputs=_make_schema(signature["inputs"]), outputs=_make_schema(signature["outputs"])
        )
    except (KeyError, TypeError):
        return None


def _make_schema(tensors: _TENSORS) -> Schema:
    return Schema(
        [
            # Text of TensorFlow is bytes, which NumPy's own type would cut at zeros.
            TensorSpec(
                np.dtype("O" if one["dtype"] == "string" else one["dtype"]),
                tuple(one["shape"]),
                name,
            )
            for name, one in tensors.items()
        ]
    )


def _save_model(
    path: str,
    mlflow_model: Any,
    folder: str,
    tags_of_graph: Sequence[str],
    key: str,
    signature: ModelSignature | None,
) -> None:
    """Write what MLflow keeps of a model: its files, and how to load them."""
    shutil.copytree(folder, os.path.join(path, _SAVED_MODEL), copy_function=os.symlink)
    mlflow_model.signature = signature
    mlflow_model.add_flavor(
        "tensorflow",
        model_type="tf1-estimator",  # MLflow's name for a SavedModel that is called by a signature
        saved_model_dir=_SAVED_MODEL,
        meta_graph_tags=list(tags_of_graph),
        signature_def_key=key,
    )
    pyfunc.add_to_model(
        mlflow_model, loader_module="mlflow.tensorflow", python_env="python_env.yaml"
    )
    packages = [f"{name}=={importlib.metadata.version(name)}" for name in _PACKAGES]
    Path(path, "requirements.txt").write_text("\n".join([*packages, ""]))
    Path(path, "python_env.yaml").write_text(
        f"python: {platform.python_version()}\ndependencies:\n- -r requirements.txt\n"
    )
    mlflow_model.save(os.path.join(path, "MLmodel"))


_PACKAGES = ("mlflow-skinny", "pandas", "tensorflow")
