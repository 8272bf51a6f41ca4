# SPDX-License-Identifier: Apache-2.0
"""An evaluation from the models' files to TFMA's files: ask, measure, judge, write."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stoker.any_python.launcher_link import report_doing
from stoker.any_python.lines import say
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.evaluation.chosen_engine import ChosenEngine, choose_engine
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.config import wants_compiled_metrics
from stoker.evaluation.engine import Batch, measure_and_draw
from stoker.evaluation.model_types import check_model_types
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.tfma import tfma_is_installed
from stoker.evaluation.thresholds import validate
from stoker.evaluation.with_tfma import (
    check_examples,
    check_threshold_names,
    evaluate_with_tfma,
)
from stoker.models.custom_extracts import extract_batches, load_shared_models, name_labels
from stoker.models.scoring import (
    find_estimator,
    find_missing_function,
    read_compiled_metrics,
    score_batches,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What to evaluate: the models' folders by name, and the files of examples.

    Without models, the examples have the predictions: `prediction_key` names the feature.
    """

    config: EvalConfig
    models: Mapping[str, str]
    files: Sequence[str]
    schema_path: str | None
    output_dir: str
    rubber_stamp: bool
    """Whether this is a first run, without the baseline that change thresholds are about."""

    def run(self, engine: str | None, custom: Mapping[str, Callable[..., Any]]) -> None:
        """Write what comes out; `custom` are functions of the user's, by their names in TFMA."""
        check_model_types(
            self.config.model_specs,
            has_model=bool(self.models),
            has_module="custom_extractors" in custom,
        )
        if custom and (engine == "stoker" or not (engine or tfma_is_installed())):
            self._run_custom(engine, custom)
            return
        hidden = None if custom else find_missing_function(self.config, self.models)
        compiled: dict[str, Compiled] = {}
        if wants_compiled_metrics(self.config) and not custom:
            compiled = read_compiled_metrics(self.config, self.models)
        choice = choose_engine(
            self.config,
            engine,
            only_tfma=f"a use for {' and '.join(custom)}" if custom else hidden,
            compiled=compiled,
        )
        say(f"Evaluator {choice}.")
        if choice.plan is not None:
            self._measure(choice, score_batches(self.config, self.models, self.files))
            return
        self._refuse_eval_saved_models()
        if not custom:
            check_threshold_names(self.config, compiled)
            batches = score_batches(self.config, self.models, self.files)
            check_examples(self.config, batches, all_known=not hidden)
        report_doing("evaluating with TFMA")
        evaluate_with_tfma(
            self.config,
            self.models,
            self.files,
            self.output_dir,
            rubber_stamp=self.rubber_stamp,
            schema_path=self.schema_path,
            **custom,
        )

    def _run_custom(self, engine: str | None, custom: Mapping[str, Callable[..., Any]]) -> None:
        """Evaluate what the user's functions make of the models and the examples."""
        shared = load_shared_models(
            self.config, self.models, custom.get("custom_eval_shared_model")
        )
        extract = custom.get("custom_extractors")
        if extract is None:
            loaded = {name: str(one.model_path) for name, one in shared.items()}
            replace(self, models=loaded).run(engine, {})
            return
        config = name_labels(self.config)
        choice = choose_engine(config, engine)
        say(f"Evaluator calls {' and '.join(custom)}, and {choice}.")
        batches = extract_batches(config, shared, self.files, self.schema_path, extract)
        self._measure(choice, batches)

    def _measure(self, choice: ChosenEngine, batches: Iterable[Batch]) -> None:
        assert choice.plan
        if choice.left_out:
            say(
                f"Left out, because only TFMA has them: {', '.join(choice.left_out)}, which the "
                "model was compiled with. To have them: pip install 'stoker[evaluator]'.",
            )
        measured, drawn = measure_and_draw(choice.plan, batches)
        write_evaluation(
            self.output_dir,
            self.config,
            measured,
            validate(choice.plan, measured, rubber_stamp=self.rubber_stamp),
            data_location=",".join(dict.fromkeys(map(os.path.dirname, self.files))),
            models=self.models,
            drawn=drawn,
        )

    def _refuse_eval_saved_models(self) -> None:
        for spec in self.config.model_specs:
            folder = self.models.get(spec.name)
            if folder and find_estimator(spec, folder):
                raise ValueError(
                    f"{folder} is an EvalSavedModel, which TFMA does not evaluate since 0.47. "
                    "Leave out what only TFMA has, or ask for another signature_name."
                )
