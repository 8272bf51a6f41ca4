# SPDX-License-Identifier: Apache-2.0
"""Where things lie inside an artifact's directory, and which names they may have there.

In today's layout, and in TFX's older ones.
"""

from __future__ import annotations

import os
import re

__all__ = [  # what `tfx.utils.path_utils` has
    "EVAL_MODEL_DIR",
    "SERVING_MODEL_DIR",
    "STAMPED_MODEL_DIR",
    "eval_model_dir",
    "eval_model_path",
    "serving_model_dir",
    "serving_model_path",
    "stamped_model_path",
    "warmup_file_path",
]

METRICS_FILE = "metrics.jsonl"
"""In a ModelRun: the metrics of a training, as `stoker.training` writes them."""
ROWS_FILE = "fit_rows.npz"
"""In the temporary folder of a step: a few rows that `fit` was given, for the model check."""
TUNER_RESULTS_FILE = "tuner_results.json"
"""In TunerResults: the trials of a search."""
EVAL_MODEL_DIR = "Format-TFMA"
SERVING_MODEL_DIR = "Format-Serving"
STAMPED_MODEL_DIR = "stamped_model"
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_MOST_BYTES = 200
"""A file system takes 255 in one name, and some of ours have an ending."""


def serving_model_dir(output_uri: str, is_old_artifact: bool = False) -> str:
    """Where a Model keeps what is served; `is_old_artifact` for TFX before 0.24."""
    return os.path.join(output_uri, "serving_model_dir" if is_old_artifact else SERVING_MODEL_DIR)


def eval_model_dir(output_uri: str, is_old_artifact: bool = False) -> str:
    """Where a Model keeps its EvalSavedModel; `is_old_artifact` for TFX before 0.24."""
    return os.path.join(output_uri, "eval_model_dir" if is_old_artifact else EVAL_MODEL_DIR)


def serving_model_path(output_uri: str, is_old_artifact: bool = False) -> str:  # noqa: ARG001
    """The served model inside a Model, in today's layout or in one of TFX's old ones.

    Format-Serving/saved_model.pb, Format-Serving/export/<name>/<timestamp>/saved_model.pb, the same
    two below `Format-Servo` or `serving_model_dir`, or the URI itself for files from elsewhere.
    """
    served = _find_served(output_uri)
    if not served and os.path.isdir(os.path.join(output_uri, EVAL_MODEL_DIR)):
        raise ValueError(
            f"There is no model for serving in {output_uri}, only the EvalSavedModel. Let the "
            "Trainer export one: EvalSpec(exporters=[tf.estimator.FinalExporter(…)], …)."
        )
    return served or output_uri


def base_model_path(output_uri: str) -> str:
    """The model to begin a training with: the EvalSavedModel where no other was exported.

    It has the weights too, and a second run of such a pipeline would fail without it.
    """
    return _find_served(output_uri) or eval_model_path(output_uri)


def eval_model_path(output_uri: str, is_old_artifact: bool = False) -> str:  # noqa: ARG001
    """The model to evaluate: the EvalSavedModel, or the served one where there is none.

    The EvalSavedModel may lie in a folder of its own, whose name is a timestamp.
    """
    for name in (EVAL_MODEL_DIR, "eval_model_dir"):
        folder = os.path.join(output_uri, name)
        if os.path.isdir(folder):
            flat = os.path.exists(os.path.join(folder, "saved_model.pb"))
            return folder if flat else _only_below(folder, what="exported model")
    return serving_model_path(output_uri)


def _find_served(output_uri: str) -> str | None:
    for name in (SERVING_MODEL_DIR, "Format-Servo", "serving_model_dir"):
        folder = os.path.join(output_uri, name)
        export = os.path.join(folder, "export")
        if os.path.isdir(export) and not os.path.exists(os.path.join(folder, "saved_model.pb")):
            exporter = _only_below(export, what="exporter's folder")
            return _only_below(exporter, what="exported model")
        if os.path.isdir(folder):
            return folder
    return None


def stamped_model_path(output_uri: str) -> str:
    """Where TFX's InfraValidator puts a model with its warmup requests."""
    return os.path.join(output_uri, STAMPED_MODEL_DIR)


def warmup_file_path(saved_model_path: str) -> str:
    """Where TensorFlow Serving looks for a model's warmup requests."""
    return os.path.join(saved_model_path, "assets.extra", "tf_serving_warmup_requests")


def only_file(directory: str) -> str:
    """The one file in an artifact's directory, such as a schema or hyperparameters.

    What an Importer has registered may be that file itself.
    """
    return directory if os.path.isfile(directory) else _only_below(directory, what="file")


def _only_below(path: str, *, what: str) -> str:
    entries = sorted(entry for entry in os.listdir(path) if not entry.startswith("."))
    if len(entries) != 1:
        raise ValueError(f"{path} should hold one {what}, but holds {entries or 'nothing'}.")
    return os.path.join(path, entries[0])


def check_file_name(name: str, what: str) -> str:
    """The name itself, if it can be that of a file; else an error about `what` it names."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is text, got {name!r}.")
    if not _is_file_name(name):
        raise ValueError(
            f"{what} is the name of a file or folder: it takes letters, digits, spaces and "
            f"signs such as '.', '_' and '-', {_MOST_BYTES} bytes at most, but no '/', no '\\', no "
            f"control character, and no '.' at its beginning; got {name!r}."
        )
    return name


def _is_file_name(name: str) -> bool:
    return (
        name.isprintable()  # which lone surrogates are not, and '' is
        and 0 < len(name.encode()) <= _MOST_BYTES
        and not name.startswith(".")
        and not set("/\\") & set(name)
    )


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as that of a bucket, and no place on this machine."""
    return _REMOTE.match(path) is not None
