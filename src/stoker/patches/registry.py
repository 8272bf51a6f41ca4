# SPDX-License-Identifier: Apache-2.0
"""Every patch of a third party: what is changed, why, and with which versions that was tried.

To add a patch:

1. Add a line to PATCHES. `stoker doctor` shows it from then on.
2. Write it in the file of its library, with `replace` or `after_import` of changes.py, behind
   `PATCHES[…].check_version()`, and behind `check_names` for what is private there.
3. Test it in tests/patches/.
"""

import functools
import importlib.metadata
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stoker.errors import StokerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One change, and what it was tried with."""

    library: str
    """The name under which pip knows it."""
    tried: str
    """The minor versions that it was tried with: "2.21", or "2.16 to 2.21"."""
    what: str
    why: str
    instead: str = ""
    """What users can do where it does not fit, after "Install one of those"."""

    def installed_version(self) -> str | None:
        """The version of the library in this environment; None if it is not there."""
        try:
            return importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            return None

    def fits(self, version: str) -> bool:
        """Whether it was tried with this version."""
        first, _, last = self.tried.partition(" to ")
        return _minor(first) <= _minor(version) <= _minor(last or first)

    def check_version(self, version: str | None = None) -> None:
        """Warn, once, if it was not tried with this version, or with the one that is installed."""
        version = version or self.installed_version()
        if version and not self.fits(version):
            _warn_once(
                f"{self._describe_misfit(version)}. If something fails, install one of those."
            )

    def check_names(self, owner: Any, *names: str) -> None:
        """Raise StokerError if the library lacks private names that are changed or used."""
        if missing := [name for name in names if not hasattr(owner, name)]:
            raise self.misfit(f"{_name(owner)} has no {', '.join(missing)}")

    def check_parameters(self, function: Callable[..., Any], *parameters: str) -> None:
        """Raise StokerError if a private function does not take these parameters."""
        if (found := tuple(inspect.signature(function).parameters)) != parameters:
            raise self.misfit(f"{_name(function)} takes {found}, not {parameters}")

    def misfit(self, reason: str = "", *, version: str | None = None) -> StokerError:
        """The error to raise where the library is not what it was when this was written."""
        text = self._describe_misfit(version or self.installed_version() or "an unknown version")
        reason = reason and f", where {reason}"
        return StokerError(f"{text}{reason}. Install one of those{self.instead}.")

    def _describe_misfit(self, version: str) -> str:
        return (
            f"Stoker changes {self.library} ({self.what}). That was tried with {self.tried}, "
            f"and this is {version}"
        )


_UNWATCHED = ", or train without checkpoints: Trainer(watch=False)"
_ONE_STEP = ", or do one step per call: Trainer(steps_per_execution=1)"

PATCHES = {
    "tensorflow-join": Patch(
        library="tensorflow",
        what="MultiWorkerMirroredStrategy tells when it is made",
        why="that is where the workers of a group wait for each other",
        tried="2.21",
    ),
    "tensorflow-bind": Patch(
        library="tensorflow",
        what="the servers of a worker group listen at one address",
        why="they would listen on every network interface, without a password",
        tried="2.21",
    ),
    "tensorflow-files": Patch(
        library="tensorflow",
        what="what is asked to read a file tells its name (any_python/tensorflow_files.py)",
        why="a file that a step reads counts for the cache, and Python hears nothing of it",
        tried="2.21",
    ),
    "tensorflow-imports": Patch(
        library="tensorflow",
        what="googleapiclient.discovery is imported when it is used",
        why="TensorFlow imports it, where it is installed, for clusters of Google Compute Engine",
        tried="2.21",
    ),
    "tensorflow-autograph": Patch(
        library="tensorflow",
        what="AutoGraph does not rewrite tensorflow_transform, tfx_bsl and stoker.data",
        why="to read a feature spec in a serving function would take seconds",
        tried="2.21",
    ),
    "tensorflow-estimators": Patch(
        library="tensorflow",
        what="tf.estimator is there again",
        why="TensorFlow 2.16 dropped it, and modules still use it",
        tried="2.16 to 2.21",
    ),
    "tensorflow-keras": Patch(
        library="tensorflow",
        what="tf.keras is Keras 2 in programs and kernels that import tfx or its libraries",
        why="code written for TFX expects it, and TFX's own imports ask for it",
        tried="2.16 to 2.21",
    ),
    "tensorflow-1-names": Patch(
        library="tensorflow",
        what="a user's code finds names of TensorFlow 1 that tf.compat.v1 has",
        why="pipelines and modules of its time say tf.logging and tf.placeholder",
        tried="2.16 to 2.21",
    ),
    "estimator-hooks": Patch(
        library="tensorflow-estimator",
        what="train gets a hook, and evaluate is read",
        why="progress and metrics of Estimators",
        tried="2.15",
    ),
    "keras-imports": Patch(
        library="keras",
        what="keras.wrappers and keras.saving import what is used of them, when it is",
        why="all of it imports scikit-learn and IPython, where they are installed",
        tried="3.15",
    ),
    "keras-fit": Patch(
        library="keras",
        what="fit gets callbacks",
        why="progress, metrics and checkpoints",
        tried="3.15",
    ),
    "keras-fit-loop": Patch(
        library="keras",
        what="fit begins in the middle of an epoch",
        why="a stopped training resumes; initial_epoch is for whole epochs",
        tried="3.15",
        instead=_UNWATCHED,
    ),
    "keras-executions": Patch(
        library="keras",
        what="fit and evaluate do several steps per call into TensorFlow",
        why="for small models the call costs more than the step",
        tried="3.15",
        instead=_ONE_STEP,
    ),
    "keras-logs": Patch(
        library="keras",
        what="what a step told passes to callbacks as it is, where it is numbers",
        why="to ask TensorFlow whether a number is a tensor takes a tenth of a small step",
        tried="3.15",
    ),
    "keras-workers": Patch(
        library="keras",
        what="fit, evaluate, predict and save work under MultiWorkerMirroredStrategy",
        why="Keras 3 has most of what that needs, and not all",
        tried="3.15",
        instead=", use Keras 2 (Trainer(keras=2)), or write a training loop of your own",
    ),
    "keras-load": Patch(
        library="keras",
        what="load_model loads what Keras 2 has saved",
        why="a notebook has another Keras than the step that trained the model",
        tried="3.15",
    ),
    "tf-keras-imports": Patch(
        library="tf-keras",
        what="keras.preprocessing.image is imported when it is used",
        why="it imports parts of SciPy, for modules that make more images of some",
        tried="2.21",
    ),
    "tf-keras-load": Patch(
        library="tf-keras",
        what="load_model loads what Keras 3 has saved",
        why="a notebook has another Keras than the step that trained the model",
        tried="2.21",
    ),
    "tf-keras-name": Patch(
        library="tf-keras",
        what="`keras` means tf_keras",
        why="modules mix keras and tf.keras, and want the same classes",
        tried="2.21",
    ),
    "tf-keras-older": Patch(
        library="tf-keras",
        what="lr, decay and names of 2.4 to 2.12 work again",
        why="modules of that time would train with another rate, or fail to import",
        tried="2.21",
    ),
    "tf-keras-one-input": Patch(
        library="tf-keras",
        what="a model with one input takes the one feature of a dict, whatever its name",
        why="Keras did so up to 2.3, and modules of that time do not name their inputs",
        tried="2.21",
    ),
    "tf-keras-plots": Patch(
        library="tf-keras",
        what="plot_model draws nothing where Graphviz is missing",
        why="it would end a training that has already saved its model",
        tried="2.21",
    ),
    "tf-keras-save-format": Patch(
        library="tf-keras",
        what="a save_format that Keras does not know means a SavedModel",
        why="it did up to 2.12, and a training would end with its last line",
        tried="2.21",
    ),
    "tf-keras-fit": Patch(
        library="tf-keras",
        what="fit gets callbacks",
        why="progress, metrics and checkpoints",
        tried="2.21",
    ),
    "tf-keras-fit-loop": Patch(
        library="tf-keras",
        what="fit begins in the middle of an epoch",
        why="a stopped training resumes; initial_epoch is for whole epochs",
        tried="2.21",
        instead=_UNWATCHED,
    ),
    "tf-keras-executions": Patch(
        library="tf-keras",
        what="fit and evaluate do several steps per call into TensorFlow",
        why="for small models the call costs more than the step",
        tried="2.21",
        instead=_ONE_STEP,
    ),
    "transform-pop": Patch(
        library="tensorflow-transform",
        what="a label that could not be computed may be popped",
        why="serving functions written for older versions do that",
        tried="1.21",
    ),
    "transform-names": Patch(
        library="tensorflow-transform",
        what="tf_metadata.dataset_schema is there again, and Schema.as_feature_spec",
        why="modules of its first years make their schemas with it",
        tried="1.21",
    ),
    "transform-coders": Patch(
        library="tensorflow-transform",
        what="CsvCoder and ExampleProtoCoder decode, as up to 0.26",
        why="scripts that run it on Beam read their rows by them",
        tried="1.21",
    ),
    "transform-arguments": Patch(
        library="tensorflow-transform",
        what="functions take the arguments and have the names of 0.11 to 1.7",
        why="a preprocessing_fn of that time would end with a TypeError",
        tried="1.21",
    ),
    "transform-graph": Patch(
        library="tensorflow-transform",
        what="a copy of what builds the graph of analyzers is imported without Apache Beam",
        why="it only names Beam's types, and Beam is a fifth of what is imported for Transform",
        tried="1.21",
    ),
    "bsl-imports": Patch(
        library="tfx-bsl",
        what="tfx_bsl.public.tfxio imports what is used of it, when it is",
        why="all of it imports Apache Beam, and most modules only name its options",
        tried="1.21",
    ),
    "bsl-names": Patch(
        library="tfx-bsl",
        what="RecordBatchToExamples is among the coders of its extension again",
        why="scripts with tensorflow_transform write examples by it",
        tried="1.21",
    ),
    "pandas-methods": Patch(
        library="pandas",
        what="frames and series have append and iteritems again",
        why="notebooks of TFX's time were written for pandas 1",
        tried="2.0 to 2.3",
    ),
    "tfma-names": Patch(
        library="tensorflow-model-analysis",
        what="names that it lost are there again",
        why="pipelines name tfma.EvalConfig and tfma.export",
        tried="0.52",
    ),
    "tuner-state": Patch(
        library="keras-tuner",
        what="state files are replaced at once",
        why="a killed search never leaves half of one",
        tried="1.4",
    ),
    "tuner-overwrite": Patch(
        library="keras-tuner",
        what="a worker does not obey overwrite=True",
        why="it would remove the state of the search that it belongs to",
        tried="1.4",
    ),
    "mlflow-digest": Patch(
        library="mlflow",
        what="autolog's digest of a dataset is of its first batches where it has no end",
        why="fit would never begin: MLflow reads a dataset that repeats to its end",
        tried="2.22 to 3.17",
    ),
    "ray-loopback": Patch(
        library="ray",
        what="a Ray that is started on loopback stays there",
        why="it would listen where other machines may reach it",
        tried="2.60",
        instead=", or start Ray yourself, and say where it is: OnRay(address=…)",
    ),
    "tensorflowjs-imports": Patch(
        library="tensorflowjs",
        what="jax, flax and decision forests need not be installed",
        why="it imports them also for a SavedModel; in the environment tfjs",
        tried="4.22",
    ),
}
"""By name, as `stoker doctor` shows them."""


def _minor(version: str) -> tuple[int, int]:
    numbers = re.findall(r"\d+", version)
    return int(numbers[0]), int(numbers[1])


def _name(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", None) or getattr(thing, "__name__", type(thing)))


@functools.cache
def _warn_once(text: str) -> None:
    warnings.warn(text, stacklevel=4)
