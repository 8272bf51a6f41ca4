# SPDX-License-Identifier: Apache-2.0
"""Which engine evaluates: Stoker's own for what is plain, TFMA for the rest."""

from dataclasses import dataclass

from stoker.errors import MissingPart
from stoker.evaluation.engine import Plan, plan_of
from stoker.evaluation.metrics import NeedsTfma
from stoker.evaluation.tfma import tfma_is_installed
from stoker.evaluation.thresholds import check_thresholds
from stoker.proto.eval_config_pb2 import EvalConfig

__all__ = ["Route", "choose_engine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The engine, and why; `plan` is for Stoker's own."""

    plan: Plan | None = None
    reason: str

    def __str__(self) -> str:
        engine = "Stoker's own engine" if self.plan else "TFMA, on Beam's in-memory runner"
        return f"runs on {engine}, because {self.reason}"


def choose_engine(config: EvalConfig, asked: str | None, *, only_tfma: str | None = None) -> Route:
    """The engine for a configuration that has its defaults.

    `asked` is the engine that the user named, `only_tfma` what else needs TFMA.
    """
    if asked == "tfma":
        return _on_tfma("engine='tfma' was asked for")
    try:
        if only_tfma:
            raise NeedsTfma(only_tfma)
        plan = plan_of(config)
    except NeedsTfma as needed:
        if asked == "stoker":
            raise ValueError(
                f"Evaluator(engine='stoker') cannot compute {needed}: leave engine out, and TFMA "
                "does."
            ) from needed
        return _on_tfma(f"only TFMA has {needed}")
    check_thresholds(plan)
    return Route(
        plan=plan,
        reason="engine='stoker' was asked for" if asked else "it computes all that is asked for",
    )


def _on_tfma(reason: str) -> Route:
    if not tfma_is_installed():
        raise MissingPart(
            f"The evaluation needs TFMA, which is not installed ({reason}). Install it: "
            "pip install 'stoker[evaluator]'.",
            name="tensorflow_model_analysis",
        )
    return Route(reason=reason)
