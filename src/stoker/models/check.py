# SPDX-License-Identifier: Apache-2.0
"""The model check: after training, and before anything is published, the model has to work.

It runs in a fresh process, as a second task of the Trainer's step. What it finds out becomes
properties of the Model:

    model_type     "SavedModel", or "files" for any other kind
    signatures     {name: {"inputs": {name: {"dtype": …, "shape": …}}, "outputs": …}}
    model_check    what was loaded and called, and what could not be judged and why

The signatures of a SavedModel in a sub-folder have its path before their names.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stoker.any_python.layout import eval_model_dir, serving_model_dir
from stoker.artifacts import Artifact
from stoker.dsl.executor import BaseExecutor
from stoker.errors import ModelRejected

if TYPE_CHECKING:
    from stoker.dsl.proto.example_pb2 import Example
    from stoker.models.sample import Sample
    from stoker.models.saved_model import Graph, Signature

__all__ = ["ModelCheck"]

_FILES = ("saved_model.pb", "saved_model.pbtxt")
_PARTS = {"assets", "assets.extra", "variables"}
_SERVING_DEFAULT = "serving_default"

Artifacts = dict[str, list[Artifact]]


class ModelCheck(BaseExecutor):
    """Loads every SavedModel of a Model, and calls its serving signature on eval examples."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Describe the model in its properties, or raise ModelRejected."""
        (model,) = output_dict["model"]
        _refuse_nothing(model.uri)
        serving = _saved_models(serving_model_dir(model.uri))
        evaluation = _saved_models(eval_model_dir(model.uri))
        model.set_string_custom_property("model_type", "SavedModel" if serving else "files")
        notes = [] if serving else ["It was not loaded: there is no SavedModel among its files."]
        signatures: dict[str, Any] = {}
        if serving or evaluation:  # only now: other models need no TensorFlow
            from stoker.models.sample import read_sample
            from stoker.models.saved_model import read_graphs

            sample = read_sample(input_dict, exec_properties)
            for folder in serving:
                prefix = _prefix(folder, serving_model_dir(model.uri))
                graph = _choose(read_graphs(folder), "serve")
                signatures |= _described(graph, prefix)
                notes.append(_check_serving(folder, prefix, graph, sample))
            for folder in evaluation:
                graph = _choose(read_graphs(folder), "eval")
                signatures |= _described(graph, _prefix(folder, model.uri))
                notes.append(_check_evaluation(folder, os.path.relpath(folder, model.uri), graph))
        if signatures:
            model.set_json_value_custom_property("signatures", signatures)
        model.set_string_custom_property("model_check", " ".join(notes))


def _refuse_nothing(folder: str) -> None:
    if not any(files for _, _, files in os.walk(folder)):
        raise ModelRejected(
            f"There is no model in {folder}: nothing was saved there. In a TF_CONFIG cluster that "
            "was started by hand, only the chief has a model to publish."
        )


def _saved_models(root: str) -> list[str]:
    """The folders of the SavedModels at or below `root`."""
    found = []
    for folder, subfolders, files in os.walk(root):
        if not set(_FILES).isdisjoint(files):
            found.append(folder)
            subfolders[:] = [name for name in subfolders if name not in _PARTS]
        subfolders.sort()
    return found


def _prefix(folder: str, root: str) -> str:
    return "" if folder == root else os.path.relpath(folder, root) + "/"


def _choose(graphs: list["Graph"], tag: str) -> "Graph":
    """The graph with the tag and the fewest others, such as `gpu`; else the first."""
    tagged = [graph for graph in graphs if tag in graph.tags]
    return min(tagged or graphs[:1], key=lambda graph: len(graph.tags))


def _described(graph: "Graph", prefix: str) -> dict[str, Any]:
    return {prefix + name: signature.to_dict() for name, signature in graph.signatures.items()}


def _check_serving(folder: str, prefix: str, graph: "Graph", sample: "Sample") -> str:
    """Load a SavedModel and call its serving signature; a sentence on how that went."""
    import tensorflow as tf

    loaded = _loaded(folder, lambda: tf.saved_model.load(folder, tags=sorted(graph.tags)))
    what = prefix.removesuffix("/") or "The SavedModel"
    if loaded is None:
        return _cannot_load(what)
    if _SERVING_DEFAULT in graph.signatures:
        name = _SERVING_DEFAULT
    elif len(graph.signatures) == 1:
        (name,) = graph.signatures
    else:
        return f"{what} loads; it has {len(graph.signatures) or 'no'} signatures, none the default."
    check = _SignatureCheck(
        name=prefix + name,
        folder=folder,
        signature=graph.signatures[name],
        function=loaded.signatures[name],
        sample=sample,
    )
    return check.run()


def _check_evaluation(folder: str, what: str, graph: "Graph") -> str:
    """Load an EvalSavedModel, which is a graph of TensorFlow 1; a sentence on how that went."""
    import tensorflow as tf

    def load() -> Any:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            return tf.compat.v1.saved_model.load(session, sorted(graph.tags), folder)

    return f"{what} loads." if _loaded(folder, load) else _cannot_load(what)


def _cannot_load(what: str) -> str:
    return f"{what} could not be loaded here: it has an op of a library that was not imported."


def _loaded(folder: str, load: Callable[[], Any]) -> Any:
    """What `load` loads; None if it needs an op that only the user's own code can register."""
    import tensorflow as tf

    try:
        return load()
    except (tf.errors.OpError, OSError, RuntimeError, TypeError, ValueError) as error:
        if "Op type not registered" in str(error):
            return None
        raise ModelRejected(
            f"The SavedModel in {folder} does not load: {_first_line(error)} Save it again, or "
            "publish the model without this check: Trainer(check=False)."
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What a signature is called with: examples, and the same as its inputs."""

    examples: list["Example"]
    inputs: Mapping[str, Any]
    made_up: bool = False

    def only(self, index: int) -> Mapping[str, Any]:
        """The inputs for one example."""
        return {name: array[index : index + 1] for name, array in self.inputs.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignatureCheck:
    """One signature, and what it may be called with."""

    name: str
    folder: str
    signature: "Signature"
    function: Callable[..., Mapping[str, Any]]
    sample: "Sample"

    @property
    def feature_names(self) -> list[str]:
        """The features that the signature reads."""
        signature = self.signature
        return sorted((signature.parses if signature.takes_examples else signature.inputs) or ())

    def run(self) -> str:
        """Call the signature; a sentence on how that went, or ModelRejected."""
        from stoker.models.sample import Misfit

        try:
            call = self._call()
        except Misfit as misfit:
            if misfit.is_to_blame:
                raise self._rejected(f"cannot take the eval examples: {misfit}") from None
            return f"{self.name} loads; it was not called: {misfit}."
        failure = self._failure(call)
        kind = "made-up raw" if call.made_up else "eval"
        num = len(call.examples)
        if failure is None:
            return f"{self.name} works on {num} {kind} example{'s' * (num > 1)}."
        index, why = failure
        if call.made_up or not self.sample.is_fair(self.feature_names):
            return f"{self.name} loads; it could not be judged by {kind} examples: {why}"
        raise self._rejected(f"fails on an eval example: {why}", call.examples[index])

    def _call(self) -> _Call:
        from stoker.models.sample import batch_of

        if not self.signature.takes_examples:
            examples, columns = self.sample.columns(self.signature.inputs, self._batch_size())
            return _Call(examples=examples, inputs=columns)
        features = self.signature.parses or {}
        made_up = not self.sample.is_fair(features)
        found = [self.sample.made_up(features)] if made_up else self.sample.fitting(features)
        examples = batch_of(found, self._batch_size())
        return _Call(examples=examples, inputs=self._serialized(examples), made_up=made_up)

    def _batch_size(self) -> int | None:
        """How many examples a signature takes at once, if it is exact about that."""
        shapes = [info.shape for info in self.signature.inputs.values()]
        if [] in shapes:
            return 1
        return next((shape[0] for shape in shapes if shape and shape[0] > 0), None)

    def _serialized(self, examples: list["Example"]) -> Mapping[str, Any]:
        import numpy as np

        ((name, info),) = self.signature.inputs.items()
        records = np.array([example.SerializeToString() for example in examples], object)
        return {name: records[0] if info.shape == [] else records}

    def _failure(self, call: _Call) -> tuple[int, str] | None:
        """The first example on which the signature fails, and why; None if it works."""
        why = _attempt(self.function, call.inputs)
        if why is None:
            return None
        if self._batch_size():
            return 0, why
        alone = (_attempt(self.function, call.only(index)) for index in range(len(call.examples)))
        return next(((index, why) for index, why in enumerate(alone) if why), None)

    def _rejected(self, what: str, example: "Example | None" = None) -> ModelRejected:
        from stoker.models.sample import show

        lines = [f"The signature {self.name!r} of the model in {self.folder} {what}"]
        if example is not None:
            lines.append(f"The example: {show(example, self.feature_names)}")
        lines.append(
            "Fix the signature, or publish the model without this check: Trainer(check=False)."
        )
        return ModelRejected("\n".join(lines))


def _attempt(function: Callable[..., Mapping[str, Any]], inputs: Mapping[str, Any]) -> str | None:
    """What is wrong with the result of one call; None if all of its floats are finite."""
    import numpy as np
    import tensorflow as tf

    try:
        outputs = function(**{name: tf.constant(value) for name, value in inputs.items()})
    except (tf.errors.OpError, TypeError, ValueError) as error:
        return _first_line(error)
    for name, tensor in outputs.items():
        if isinstance(tensor, tf.Tensor) and tensor.dtype.is_floating:
            values = tensor.numpy().astype(np.float64)
            if not np.isfinite(values).all():
                return f"its output {name!r} is {values[~np.isfinite(values)][0]}."
    return None


def _first_line(error: BaseException) -> str:
    """What an op had to say, without what TensorFlow puts around it."""
    around = ("Graph execution error", "Detected at", "<stack traces", " ", "\t")
    lines = [line for line in str(error).splitlines() if line and not line.startswith(around)]
    text = (lines or [type(error).__name__])[0].removeprefix("Name: <unknown>, ")
    return text if text.endswith(".") else f"{text}."
