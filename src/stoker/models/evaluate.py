# SPDX-License-Identifier: Apache-2.0
"""An evaluation from the models' files to TFMA's files: ask, measure, judge, write."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.any_python.lines import say
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.evaluation.chosen_engine import ChosenEngine, choose_engine
from stoker.evaluation.compiled import Compiled, read_compiled
from stoker.evaluation.config import wants_compiled_metrics
from stoker.evaluation.engine import measure
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.evaluation.with_tfma import (
    check_examples,
    check_threshold_names,
    evaluate_with_tfma,
)
from stoker.models.eval_saved_model import load_eval_saved_model
from stoker.models.scoring import find_missing_function, score_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What to evaluate: the models' folders by name, and the files of examples."""

    config: EvalConfig
    models: Mapping[str, str]
    files: Sequence[str]
    schema_path: str | None
    output_dir: str
    rubber_stamp: bool
    """Whether this is a first run, without the baseline that change thresholds are about."""

    def run(self, engine: str | None, custom: Mapping[str, Callable[..., Any]]) -> None:
        """Write what comes out; `custom` are functions of the user's that only TFMA calls."""
        hidden = None if custom else find_missing_function(self.config, self.models)
        compiled: dict[str, Compiled] = {}
        if wants_compiled_metrics(self.config):
            compiled = {name: _read_compiled(folder) for name, folder in self.models.items()}
        choice = choose_engine(
            self.config,
            engine,
            only_tfma=f"a use for {' and '.join(custom)}" if custom else hidden,
            compiled=compiled,
        )
        say(f"Evaluator {choice}.")
        if choice.plan is not None:
            self._measure(choice)
            return
        _refuse_eval_saved_models(self.models)
        if not custom:
            check_threshold_names(self.config, compiled)
            batches = score_batches(self.config, self.models, self.files)
            check_examples(self.config, batches, all_known=not hidden)
        evaluate_with_tfma(
            self.config,
            self.models,
            self.files,
            self.output_dir,
            rubber_stamp=self.rubber_stamp,
            schema_path=self.schema_path,
            **custom,
        )

    def _measure(self, choice: ChosenEngine) -> None:
        assert choice.plan
        if choice.left_out:
            say(
                f"Left out, because only TFMA has them: {', '.join(choice.left_out)}, which the "
                "model was compiled with. To have them: pip install 'stoker[evaluator]'.",
            )
        measured = measure(choice.plan, score_batches(self.config, self.models, self.files))
        write_evaluation(
            self.output_dir,
            self.config,
            measured,
            validate(choice.plan, measured, rubber_stamp=self.rubber_stamp),
            data_location=",".join(dict.fromkeys(map(os.path.dirname, self.files))),
            models=self.models,
        )


def _read_compiled(folder: str) -> Compiled:
    """The metrics that come with a model."""
    model = load_eval_saved_model(folder)
    return model.compiled if model else read_compiled(folder)


def _refuse_eval_saved_models(models: Mapping[str, str]) -> None:
    for folder in models.values():
        if load_eval_saved_model(folder):
            raise ValueError(
                f"{folder} is an EvalSavedModel, which TFMA does not evaluate since 0.47. Leave "
                "out what only TFMA has, or ask the model for serving: another signature_name."
            )
