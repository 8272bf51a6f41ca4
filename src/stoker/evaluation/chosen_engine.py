# SPDX-License-Identifier: Apache-2.0
"""Which engine evaluates: Stoker's own for what is plain, TFMA for the rest."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import MissingPart
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.engine import Plan, list_metrics, make_plan
from stoker.evaluation.metrics import NeedsTfma, make_metrics
from stoker.evaluation.tfma import tfma_is_installed
from stoker.evaluation.thresholds import check_thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEngine:
    """The engine, and why; `plan` is for Stoker's own, which leaves out what `left_out` names."""

    plan: Plan | None = None
    reason: str
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        engine = "Stoker's own engine" if self.plan else "TFMA, on Beam's in-memory runner"
        return f"runs on {engine}, because {self.reason}"


def choose_engine(
    config: EvalConfig,
    asked: str | None,
    *,
    only_tfma: str | None = None,
    compiled: Mapping[str, Compiled] | None = None,
) -> ChosenEngine:
    """The engine for a configuration that has its defaults.

    `asked` is the engine that the user named, `only_tfma` what else needs TFMA, and `compiled` has
    the metrics that the models bring.
    """
    if asked == "tfma":
        return _take_tfma("engine='tfma' was asked for")
    brought = (compiled or {}).values()
    unknown = tuple({name: None for one in brought for name in one.unknown})
    others = [*config.metrics_specs, *(metric for one in brought for metric in one.metrics)]
    try:
        if only_tfma:
            raise NeedsTfma(only_tfma)
        if unknown and not asked and (tfma_is_installed() or not others):
            raise NeedsTfma(f"{', '.join(unknown)}, which the model was compiled with")
        plan = make_plan(config, compiled)
    except NeedsTfma as needed:
        return _refuse_or_take_tfma(asked, needed)
    check_thresholds(plan)
    return ChosenEngine(
        plan=plan,
        reason="engine='stoker' was asked for" if asked else "it computes all that is asked for",
        left_out=unknown,
    )


def check_config(config: EvalConfig, asked: str | None) -> None:
    """Refuse what no model can change: metrics that nobody has, parts of TFMA where it is not."""
    if asked == "tfma":
        _take_tfma("engine='tfma' was asked for")
        _check_names(config)
        return
    try:
        list_metrics(config)
    except NeedsTfma as needed:
        _refuse_or_take_tfma(asked, needed)
        _check_names(config)


def _refuse_or_take_tfma(asked: str | None, needed: NeedsTfma) -> ChosenEngine:
    if asked == "stoker":
        raise ValueError(
            f"Evaluator(engine='stoker') cannot compute {needed}: leave engine out, and TFMA does."
        ) from needed
    return _take_tfma(f"only TFMA has {needed}")


def _take_tfma(reason: str) -> ChosenEngine:
    if not tfma_is_installed():
        raise MissingPart(
            f"The evaluation needs TFMA, which is not installed ({reason}). Install it: "
            "pip install 'stoker[evaluator]'.",
            name="tensorflow_model_analysis",
        )
    return ChosenEngine(reason=reason)


def _check_names(config: EvalConfig) -> None:
    """Refuse metrics that nobody has."""
    for spec in config.metrics_specs:
        for metric in spec.metrics:
            with contextlib.suppress(NeedsTfma):
                make_metrics(metric)
