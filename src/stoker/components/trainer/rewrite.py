# SPDX-License-Identifier: Apache-2.0
"""`Trainer(rewrite=[…])`: after training, the model in other formats beside Format-Serving."""

import json
import os
from typing import Any

from google.protobuf import json_format

from stoker import dsl
from stoker.any_python.layout import serving_model_path
from stoker.components.rewriter import eval_files
from stoker.dsl.proto.trainer_pb2 import EvalArgs
from stoker.models.check import ModelCheck
from stoker.models.rewriting.targets import TARGETS, removed_on_failure, rewrite

__all__ = ["CheckAndRewrite", "Rewrite"]


class Rewrite(dsl.BaseExecutor):
    """Rewrites the model that was trained, in a fresh process and before it is published."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Put each format into a folder of its own; if one fails, none is left."""
        (model,) = output_dict["model"]
        args = json_format.Parse(exec_properties.get("eval_args") or "{}", EvalArgs())
        examples = input_dict.get("raw_examples") or input_dict["examples"]
        files = eval_files(examples, list(args.splits) or ["eval"])
        names = json.loads(exec_properties["rewrite"])
        folders = {name: os.path.join(model.uri, TARGETS[name].folder) for name in names}
        reports = {}
        with removed_on_failure(folders.values()):
            for name, folder in folders.items():
                report = rewrite(serving_model_path(model.uri), name, folder, examples=files)
                reports[name] = report.to_dict()
                print(f"{name}: {report.summary()}")
        model.set_json_value_custom_property("rewriting", reports)


class CheckAndRewrite(Rewrite):
    """Checks the model first."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Check the model, then rewrite it."""
        ModelCheck().Do(input_dict, output_dict, exec_properties)
        super().Do(input_dict, output_dict, exec_properties)
