# SPDX-License-Identifier: Apache-2.0
"""`Trainer(rewrite=[…])`: after training, the model in other formats beside Format-Serving."""

import json
import os
from typing import Any

from stoker import dsl
from stoker.any_python.layout import serving_model_path
from stoker.components.rewriter import eval_files
from stoker.components.trainer.check import eval_splits
from stoker.models.rewriting.targets import TARGETS, rewrite_all


class Rewrite(dsl.BaseExecutor):
    """Rewrites the model that was trained, in a fresh process and before it is published."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Put each format into a folder of its own; if one fails, none is left."""
        (model,) = output_dict["model"]
        examples = input_dict.get("raw_examples") or input_dict["examples"]
        files = eval_files(examples, eval_splits(exec_properties))
        names = json.loads(exec_properties["rewrite"])
        folders = {name: os.path.join(model.uri, TARGETS[name].folder) for name in names}
        reports = rewrite_all(serving_model_path(model.uri), folders, examples=files)
        described = {name: report.to_dict() for name, report in reports.items()}
        model.set_json_value_custom_property("rewriting", described)
