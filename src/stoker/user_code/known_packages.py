# SPDX-License-Identifier: Apache-2.0
"""Packages that code for TFX imports and Stoker does not bring: how to have each, or do without.

To add one: a line in KNOWN. `stoker check` says it, and so does a step that fails for want of it.
"""

from dataclasses import dataclass

from stoker.user_code.imports import PIP_NAMES

RUN_HERE = "Leave out what uses it: `stoker run` runs the pipeline on this machine without."
"""What to do instead of running it on another orchestrator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPackage:
    """How to have a package; one without both is done without."""

    pip: str = ""
    """What to install here."""
    environment: str = ""
    """The environment of `stoker env` that has it; today's TensorFlow has not."""
    advice: str = ""
    """What else to say: what to do without it, or with it."""
    is_guess: bool = False
    """Whether `pip` only sounds like the module, which may as well be a file of the user's own."""

    def describe(self, module: str) -> str:
        """What to do about a module that is missing, in one line."""
        if self.is_guess:
            said = (
                f"No module named {module!r}. Install the package that has it, perhaps pip install "
                f"{self.pip}, or put its file beside this one."
            )
        elif self.environment:
            said = (
                f"{module} does not run with today's TensorFlow; the environment has it: stoker "
                f"env create {self.environment}, and Trainer(python={self.environment!r})."
            )
        elif self.pip:
            said = f"{module} is not installed: pip install {self.pip}."
        else:
            said = f"{module} is not here."
        return f"{said} {self.advice}".rstrip()


KNOWN = {
    "airflow": KnownPackage(advice=RUN_HERE),
    "apache_beam": KnownPackage(pip="'stoker[transform]'"),
    "fairness_indicators": KnownPackage(
        pip="--no-deps fairness-indicators",
        advice="Evaluator(fairness_indicator_thresholds=[…]) needs no such package.",
    ),
    "google.colab": KnownPackage(
        advice="Give files by their paths on this machine, and leave out what is Colab's."
    ),
    "kfp": KnownPackage(advice=RUN_HERE),
    "kubernetes": KnownPackage(advice=RUN_HERE),
    "mlflow": KnownPackage(pip="'stoker[mlflow]'"),
    "tensorflow_addons": KnownPackage(environment="tf-2.15"),
    "tensorflow_cloud": KnownPackage(
        advice="Leave out what uses it: Trainer and Tuner run on this machine, or on Ray, without."
    ),
    "tensorflow_datasets": KnownPackage(pip="tensorflow-datasets"),
    "tensorflow_decision_forests": KnownPackage(environment="tf-2.15"),
    "tensorflow_estimator": KnownPackage(pip="'stoker[estimator]'"),
    "tensorflow_hub": KnownPackage(pip="tensorflow-hub"),
    "tensorflow_probability": KnownPackage(pip="tensorflow-probability"),
    "tensorflow_ranking": KnownPackage(
        pip="--no-deps tensorflow-ranking", advice="Its dependencies ask for an older TensorFlow."
    ),
    "tensorflow_recommenders": KnownPackage(pip="tensorflow-recommenders"),
    "tensorflow_text": KnownPackage(pip="tensorflow-text"),
    "tensorflow_transform": KnownPackage(pip="'stoker[transform]'"),
    "tfx_addons": KnownPackage(
        pip="--no-deps tfx-addons", advice="With its dependencies comes TFX itself, over Stoker's."
    ),
    "tfx_bsl": KnownPackage(pip="'stoker[transform]'"),
    "witwidget": KnownPackage(
        advice="Look at slices with tfma.view.render_slicing_metrics instead of the What-If Tool."
    ),
}
"""By the name of the module."""


def find_package(module: str) -> KnownPackage:
    """How to have the package that a module is in."""
    # Below google, each is a package of its own: google.cloud.bigquery.
    name = module if module.startswith("google.") else module.partition(".")[0]
    if name in KNOWN:
        return KNOWN[name]
    if name in PIP_NAMES:
        return KnownPackage(pip=PIP_NAMES[name])
    pip = name.replace("_", "-").replace(".", "-")
    return KnownPackage(pip=pip, is_guess=not name.startswith("google."))


def missing_package_hint(error: BaseException) -> str:
    """What to do about a package that the user's code lacks, or an empty string."""
    module = error.name if isinstance(error, ModuleNotFoundError) else None
    top = (module or "").partition(".")[0]
    return KNOWN[top].describe(top) if top in KNOWN else ""
