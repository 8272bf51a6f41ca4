# SPDX-License-Identifier: Apache-2.0
"""An evaluation from the models' files to TFMA's files: ask, measure, judge, write."""

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from stoker.any_python.launcher_link import report_doing
from stoker.any_python.lines import say
from stoker.any_python.progress import follow
from stoker.data.columns import find_num_rows
from stoker.data.sharding import Shard, plan_shards
from stoker.dsl.pool import LocalPool, Pool
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.evaluation.chosen_engine import ChosenEngine, choose_engine
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.config import wants_compiled_metrics
from stoker.evaluation.engine import Sums, draw, sum_up
from stoker.evaluation.model_types import check_model_types
from stoker.evaluation.results import EXAMPLES_FORMAT, write_evaluation
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
    forget_models,
    read_compiled_metrics,
    score_batches,
)

OpenPool = Callable[[int], contextlib.AbstractContextManager[Pool]]


class _Key(NamedTuple):
    """What an evaluation is of, as it is sent to other processes."""

    config: bytes
    models: tuple[tuple[str, str], ...]


class _Chosen(NamedTuple):
    """The engine, and what it was chosen by."""

    engine: ChosenEngine
    hidden: str | None = None
    compiled: Mapping[str, Compiled] = {}


def _open_here(_: int) -> LocalPool:
    return LocalPool()


@functools.lru_cache(maxsize=1)
def _choose(key: _Key, engine: str | None) -> _Chosen:
    """The engine, in every process that works on shards."""
    config, models = EvalConfig.FromString(key.config), dict(key.models)
    hidden = find_missing_function(config, models)
    compiled: Mapping[str, Compiled] = {}
    if wants_compiled_metrics(config):
        compiled = read_compiled_metrics(config, models)
    chosen = choose_engine(config, engine, only_tfma=hidden, compiled=compiled)
    return _Chosen(chosen, hidden, compiled)


def _sum_up_shard(key: _Key, engine: str | None, shard: Shard) -> Sums:
    plan = _choose(key, engine).engine.plan
    assert plan
    batches = score_batches(EvalConfig.FromString(key.config), dict(key.models), shard.files)
    return sum_up(plan, batches)


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
    data_location: str = ""
    """What the files are called in what is written; by default, the folders that they are in."""
    file_format: str = EXAMPLES_FORMAT

    def run(
        self,
        engine: str | None,
        custom: Mapping[str, Callable[..., Any]],
        open_pool: OpenPool = _open_here,
    ) -> None:
        """Write what comes out; `custom` are functions of the user's, by their names in TFMA.

        The pool of so many shards is opened where there are no such functions.
        """
        check_model_types(
            self.config.model_specs,
            has_model=bool(self.models),
            has_module="custom_extractors" in custom,
        )
        if custom and (engine == "stoker" or not (engine or tfma_is_installed())):
            self._run_custom(engine, custom, open_pool)
            return
        if custom:
            only_tfma = f"a use for {' and '.join(custom)}"
            chosen = _Chosen(choose_engine(self.config, engine, only_tfma=only_tfma))
        else:
            chosen = _choose(self._key, engine)
        say(f"Evaluator {chosen.engine}.")
        if chosen.engine.plan is not None:
            self._measure(chosen.engine, self._sum_up_shards(engine, open_pool))
            return
        self._refuse_eval_saved_models()
        if not custom:
            check_threshold_names(self.config, chosen.compiled)
            with self._follow():
                batches = score_batches(self.config, self.models, self.files)
                check_examples(self.config, batches, all_known=not chosen.hidden)
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

    def _run_custom(
        self, engine: str | None, custom: Mapping[str, Callable[..., Any]], open_pool: OpenPool
    ) -> None:
        """Evaluate what the user's functions make of the models and the examples."""
        shared = load_shared_models(
            self.config, self.models, custom.get("custom_eval_shared_model")
        )
        extract = custom.get("custom_extractors")
        if extract is None:
            loaded = {name: str(one.model_path) for name, one in shared.items()}
            replace(self, models=loaded).run(engine, {}, open_pool)
            return
        config = name_labels(self.config)
        choice = choose_engine(config, engine)
        say(f"Evaluator calls {' and '.join(custom)}, and {choice}.")
        batches = extract_batches(config, shared, self.files, self.schema_path, extract)
        assert choice.plan
        self._measure(choice, sum_up(choice.plan, batches))

    @property
    def _key(self) -> "_Key":
        config = self.config.SerializeToString(deterministic=True)
        return _Key(config, tuple(self.models.items()))

    def _follow(self) -> contextlib.AbstractContextManager[None]:
        return follow("evaluating", unit="examples", total=find_num_rows(self.files))

    def _sum_up_shards(self, engine: str | None, open_pool: OpenPool) -> Sums:
        shards = plan_shards(self.files)
        report_doing("loading the model")
        try:
            with open_pool(len(shards)) as pool, self._follow():
                summed = pool.map(partial(_sum_up_shard, self._key, engine), shards)
                total = next(summed)
                for sums in summed:
                    total.merge(sums)
        finally:
            _choose.cache_clear()  # a notebook may write another model to the same folder
            forget_models()
        return total

    def _measure(self, choice: ChosenEngine, sums: Sums) -> None:
        assert choice.plan
        if choice.left_out:
            say(
                f"Left out, because only TFMA has them: {', '.join(choice.left_out)}, which the "
                "model was compiled with. To have them: pip install 'stoker[evaluator]'.",
            )
        measured, drawn = draw(choice.plan, sums)
        write_evaluation(
            self.output_dir,
            self.config,
            measured,
            validate(choice.plan, measured, rubber_stamp=self.rubber_stamp),
            data_location=self.data_location
            or ",".join(dict.fromkeys(map(os.path.dirname, self.files))),
            file_format=self.file_format,
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
