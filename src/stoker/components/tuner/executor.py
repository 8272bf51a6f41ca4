# SPDX-License-Identifier: Apache-2.0
"""What the Tuner does in a worker: it runs the user's search and writes down what was found."""

import json
import os
import sys
from typing import Any

from stoker import dsl
from stoker.any_python.forking import may_fork
from stoker.any_python.launcher_link import report
from stoker.any_python.layout import TUNER_RESULTS_FILE as TUNER_RESULTS_FILE
from stoker.any_python.lines import say
from stoker.artifacts import Artifact
from stoker.dsl.proto.tuner_pb2 import TuneArgs
from stoker.errors import StepFailed
from stoker.metadata.masking import KnownSecrets, environment, find_secrets
from stoker.storage.files import remove_dir
from stoker.training.tuning.parallel import search_in_parallel
from stoker.training.tuning.plot import page
from stoker.training.tuning.search import (
    SearchJob,
    Watched,
    check_outcome,
    search_here,
    set_damage_aside,
)
from stoker.training.tuning.trials import rows, table
from stoker.user_code.fn_args import get_common_fn_args

BEST_HYPERPARAMETERS_FILE = "best_hyperparameters.txt"
PLOT_FILE = "search.html"


class Executor(dsl.BaseExecutor):
    """Calls `tuner_fn(fn_args)`, runs the search that it returns, and keeps the best of it."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Tune."""
        # What KerasTuner knows about the trials lies where the next attempt finds it.
        working_dir = self._context.checkpoint_dir or self._get_tmp_dir()
        os.makedirs(working_dir, exist_ok=True)
        set_damage_aside(working_dir)
        job = SearchJob(
            module_file=exec_properties.get("module_file"),
            path=exec_properties.get("tuner_fn"),
            fn_args=get_common_fn_args(
                input_dict, exec_properties, working_dir, columns_dir=self._context.columns_dir
            ),
        )
        tune_args = dsl.parse_message(exec_properties.get("tune_args"), TuneArgs())
        watched = _search(job, max(1, tune_args.num_parallel_trials))
        if watched.search.best:
            _write(watched, output_dict, find_secrets(environment(), exec_properties))
        try:
            check_outcome(watched)
        except StepFailed:
            # This search has ended: the next attempt is a new one.
            remove_dir(working_dir, by_way_of=os.path.join(self._get_tmp_dir(), "removed"))
            raise


def _search(job: SearchJob, num_parallel_trials: int) -> Watched:
    if num_parallel_trials == 1:
        return search_here(job)
    if may_fork():
        return search_in_parallel(job, num_parallel_trials)
    why = "TensorFlow has already run in this process" if sys.platform == "linux" else sys.platform
    text = f"trials run one after the other: processes cannot be forked safely here ({why})"
    report({"kind": "warning", "text": text})
    return search_here(job)


def _write(watched: Watched, output_dict: dsl.Artifacts, secrets: KnownSecrets) -> None:
    search = watched.search
    (best,) = watched.tuner.get_best_hyperparameters(1)
    config = json.dumps(best.get_config())
    _write_file(output_dict["best_hyperparameters"], BEST_HYPERPARAMETERS_FILE, config)
    results = output_dict.get("tuner_results") or []
    # A trial that failed is there with its error, which may quote anything.
    _write_file(results, TUNER_RESULTS_FILE, secrets.mask_quoted(json.dumps(rows(search))))
    _write_file(results, PLOT_FILE, secrets.mask_quoted(page(search)))
    say(table(search), error=True)


def _write_file(artifacts: list[Artifact], name: str, text: str) -> None:
    for artifact in artifacts:
        os.makedirs(artifact.uri, exist_ok=True)
        with open(os.path.join(artifact.uri, name), "w", encoding="utf-8") as file:
            file.write(text)
