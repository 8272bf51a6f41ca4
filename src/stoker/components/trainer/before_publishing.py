# SPDX-License-Identifier: Apache-2.0
"""What happens to a model after training and before it is published, each in a fresh process.

`ModelCheck` makes sure that it works; `Rewrite` then writes it in the formats of
`Trainer(rewrite=[…])`, beside Format-Serving. What the check finds out becomes properties:

    model_type     "SavedModel", or "files" for any other kind
    signatures     {name: {"inputs": {name: {"dtype": …, "shape": …}}, "outputs": …}}
    model_check    what was loaded and called, and what could not be judged and why

The signatures of a SavedModel in a sub-folder have its path before their names.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stoker import dsl
from stoker.any_python.launcher_link import report, report_doing
from stoker.any_python.layout import (
    ROWS_FILE,
    eval_model_dir,
    only_file,
    serving_model_dir,
    serving_model_path,
)
from stoker.components.rewriter import eval_files
from stoker.dsl.proto.trainer_pb2 import EvalArgs
from stoker.errors import ModelRejected
from stoker.models.rewriting.targets import TARGETS, rewrite_all

if TYPE_CHECKING:
    from stoker.models.check import CheckedModel

_FILES = ("saved_model.pb", "saved_model.pbtxt")
_NOT_LOADED = "It was not loaded: there is no SavedModel among its files."
_NOT_SERVED = "There is no model for serving, only the EvalSavedModel."
_PARTS = {"assets", "assets.extra", "variables"}


class ModelCheck(dsl.BaseExecutor):
    """Loads every SavedModel of a Model, looks at its variables, and calls its signatures."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Describe the model in its properties, or raise ModelRejected."""
        report_doing("checking the model")
        (model,) = output_dict["model"]
        _refuse_nothing(model.uri)
        serving = _find_saved_models(serving_model_dir(model.uri))
        evaluation = _find_saved_models(eval_model_dir(model.uri))
        left_open = [] if serving else [_NOT_SERVED if evaluation else _NOT_LOADED]
        notes, unproven = [*left_open], [*left_open]
        signatures: dict[str, Any] = {}
        rows_file = os.path.join(self._get_tmp_dir(), ROWS_FILE)
        for checked in _check(
            model.uri, serving, evaluation, input_dict, exec_properties, rows_file
        ):
            notes += [remark.text for remark in checked.remarks]
            left_open += [remark.text for remark in checked.remarks if remark.is_open]
            unproven += [remark.text for remark in checked.remarks if remark.is_unproven]
            signatures |= checked.signatures
        if unproven and exec_properties.get("check") == "required":
            raise ModelRejected(
                f"The model was not seen to work: {' '.join(unproven)} Give it a signature that "
                "takes the eval examples, or publish it as it is: Trainer(check=True)."
            )
        model.set_string_custom_property("model_type", "SavedModel" if serving else "files")
        if signatures:
            model.set_json_value_custom_property("signatures", signatures)
        model.set_string_custom_property("model_check", " ".join(notes))
        if left_open:
            text = f"the model check: {' '.join(left_open)}"
            report({"kind": "note", "node": self._context.node_id, "text": text})


class Rewrite(dsl.BaseExecutor):
    """Writes the model that was trained in other formats."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Put each format into a folder of its own; if one fails, none is left."""
        (model,) = output_dict["model"]
        examples = input_dict.get("raw_examples") or input_dict["examples"]
        files = eval_files(examples, _eval_splits(exec_properties))
        names = json.loads(exec_properties["rewrite"])
        folders = {name: os.path.join(model.uri, TARGETS[name].folder) for name in names}
        reports = rewrite_all(serving_model_path(model.uri), folders, examples=files)
        described = {name: report.to_dict() for name, report in reports.items()}
        model.set_json_value_custom_property("rewriting", described)


def _eval_splits(exec_properties: Mapping[str, Any]) -> list[str]:
    """The splits that a Trainer evaluates on."""
    args = dsl.parse_message(exec_properties.get("eval_args"), EvalArgs())
    return list(args.splits) or ["eval"]


def _check(
    uri: str,
    serving: list[str],
    evaluation: list[str],
    input_dict: dsl.Artifacts,
    exec_properties: Mapping[str, Any],
    rows_file: str,
) -> "Iterator[CheckedModel]":
    if not serving and not evaluation:  # other models need no TensorFlow
        return
    from stoker.models.check import check_eval_model, check_serving_model
    from stoker.models.eval_examples import read_eval_examples
    from stoker.training.fit_data import load_rows

    graphs = input_dict.get("transform_graph")
    examples = read_eval_examples(
        input_dict.get("examples") or [],
        _eval_splits(exec_properties),
        graphs[0].uri if graphs else None,
        rows_of_fit=load_rows(rows_file),
        schema=_read_schema(input_dict),
    )
    for folder in serving:
        yield check_serving_model(folder, _prefix(folder, serving_model_dir(uri)), examples)
    for folder in evaluation:
        yield check_eval_model(folder, _prefix(folder, uri))


def _read_schema(input_dict: dsl.Artifacts) -> Any:
    from stoker.statistics.data_schema import read_schema

    given = input_dict.get("schema")
    return read_schema(only_file(given[0].uri)) if given else None


def _refuse_nothing(folder: str) -> None:
    if not any(files for _, _, files in os.walk(folder)):
        raise ModelRejected(
            f"There is no model in {folder}: nothing was saved there. Save one; in a TF_CONFIG "
            "cluster that was started by hand, only the chief has a model to publish."
        )


def _find_saved_models(root: str) -> list[str]:
    """The folders of the SavedModels at or below `root`."""
    found = []
    for folder, subfolders, files in os.walk(root):
        if not set(_FILES).isdisjoint(files):
            found.append(folder)
            subfolders[:] = [name for name in subfolders if name not in _PARTS]
        subfolders.sort()
    return found


def _prefix(folder: str, root: str) -> str:
    return "" if folder == root else os.path.relpath(folder, root) + "/"
