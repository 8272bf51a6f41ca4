# SPDX-License-Identifier: Apache-2.0
"""Where things lie inside an artifact's directory, in today's layout and in TFX's older ones."""

from __future__ import annotations

import os

METRICS_FILE = "metrics.jsonl"
"""In a ModelRun: the metrics of a training, as `stoker.training` writes them."""
TUNER_RESULTS_FILE = "tuner_results.json"
"""In TunerResults: the trials of a search."""


def serving_model_dir(model_uri: str) -> str:
    """Where a Model keeps what is served."""
    return os.path.join(model_uri, "Format-Serving")


def eval_model_dir(model_uri: str) -> str:
    """Where a Model keeps its EvalSavedModel."""
    return os.path.join(model_uri, "Format-TFMA")


def _only_below(path: str, *, what: str) -> str:
    entries = sorted(entry for entry in os.listdir(path) if not entry.startswith("."))
    if len(entries) != 1:
        raise ValueError(f"{path} should hold one {what}, but holds {entries or 'nothing'}.")
    return os.path.join(path, entries[0])


def only_file(directory: str) -> str:
    """The one file in an artifact's directory, such as a schema or hyperparameters.

    What an Importer has registered may be that file itself.
    """
    return directory if os.path.isfile(directory) else _only_below(directory, what="file")


def serving_model_path(model_uri: str) -> str:
    """The served model inside a Model, in today's layout or in one of TFX's old ones.

    Format-Serving/saved_model.pb, Format-Serving/export/<name>/<timestamp>/saved_model.pb, the same
    two below `Format-Servo` or `serving_model_dir`, or the URI itself for files from elsewhere.
    """
    for name in ("Format-Serving", "Format-Servo", "serving_model_dir"):
        folder = os.path.join(model_uri, name)
        export = os.path.join(folder, "export")
        if os.path.isdir(export) and not os.path.exists(os.path.join(folder, "saved_model.pb")):
            exporter = _only_below(export, what="exporter's folder")
            return _only_below(exporter, what="exported model")
        if os.path.isdir(folder):
            return folder
    return model_uri


def eval_model_path(model_uri: str) -> str:
    """The EvalSavedModel inside a Model, in today's layout or with a timestamp below it."""
    for name in ("Format-TFMA", "eval_model_dir"):
        folder = os.path.join(model_uri, name)
        if os.path.isdir(folder):
            flat = os.path.exists(os.path.join(folder, "saved_model.pb"))
            return folder if flat else _only_below(folder, what="exported model")
    raise ValueError(f"The model at {model_uri} has no EvalSavedModel (Format-TFMA).")
