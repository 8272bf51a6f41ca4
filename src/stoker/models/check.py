# SPDX-License-Identifier: Apache-2.0
"""The model check: a SavedModel loads, and its serving signature works on eval examples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import ModelRejected
from stoker.models.eval_examples import EvalExamples, show_features
from stoker.models.inputs import Arrays, Misfit, make_inputs
from stoker.models.saved_model import MetaGraph, choose_graph, read_graphs
from stoker.models.serving_model import CALL_ERRORS, LOAD_ERRORS, ServingModel, first_line


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """What was found out about a SavedModel that may be published."""

    signatures: dict[str, Any]
    """{name: {"inputs": {name: {"dtype": …, "shape": …}}, "outputs": …}}"""
    note: str
    """A sentence: what was loaded and called, and what could not be judged and why."""


def check_serving_model(folder: str, prefix: str, examples: EvalExamples) -> CheckedModel:
    """Load a SavedModel and call its default signature; ModelRejected if either fails.

    `prefix` goes before the names of signatures, where there are several SavedModels.
    """
    graph = choose_graph(read_graphs(folder), "serve")
    what = prefix.removesuffix("/") or "The SavedModel"
    name = graph.default_signature
    if name is None:
        num = len(graph.signatures) or "no"
        loaded = _load(folder, lambda: tf.saved_model.load(folder, tags=sorted(graph.tags)))
        note = loaded and f"{what} loads; it has {num} signatures, none the default."
    else:
        model = _load(folder, lambda: ServingModel(folder, name, graph.tags))
        note = model and _SignatureCheck(name=prefix + name, model=model, examples=examples).run()
    return _describe(graph, prefix, note or _cannot_load(what))


def check_eval_model(folder: str, prefix: str) -> CheckedModel:
    """Load an EvalSavedModel, which is a graph of TensorFlow 1, or raise ModelRejected."""
    graph = choose_graph(read_graphs(folder), "eval")
    what = prefix.removesuffix("/")

    def load() -> Any:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            return tf.compat.v1.saved_model.load(session, sorted(graph.tags), folder)

    note = f"{what} loads." if _load(folder, load) else _cannot_load(what)
    return _describe(graph, prefix, note)


def _describe(graph: MetaGraph, prefix: str, note: str) -> CheckedModel:
    signatures = {prefix + name: one.to_dict() for name, one in graph.signatures.items()}
    return CheckedModel(signatures=signatures, note=note)


def _cannot_load(what: str) -> str:
    return f"{what} could not be loaded here: it has an op of a library that was not imported."


def _load(folder: str, load: Callable[[], Any]) -> Any:
    """What `load` loads; None if it needs an op that only the user's own code can register."""
    try:
        return load()
    except LOAD_ERRORS as error:
        if "Op type not registered" in str(error):
            return None
        raise ModelRejected(
            f"The SavedModel in {folder} does not load: {first_line(error)} Save it again, or "
            "publish the model without this check: Trainer(check=False)."
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What a signature is called with: examples, and the same as its inputs."""

    examples: list[Example]
    inputs: Arrays
    made_up: bool

    def select(self, index: int) -> Arrays:
        """The inputs for one example."""
        return {name: array[index : index + 1] for name, array in self.inputs.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignatureCheck:
    """One signature, and what it may be called with."""

    name: str
    model: ServingModel
    examples: EvalExamples

    def run(self) -> str:
        """Call the signature; a sentence on how that went, or ModelRejected."""
        try:
            call = self._choose_call()
        except Misfit as misfit:
            if misfit.is_parsed and not self.examples.has_transform_graph:
                raise self._reject(f"cannot take the eval examples: {misfit}") from None
            return f"{self.name} loads; it was not called: {misfit}."
        failure = self._find_failure(call)
        kind = "made-up raw" if call.made_up else "eval"
        num = len(call.examples)
        if failure is None:
            return f"{self.name} works on {num} {kind} example{'s' * (num > 1)}."
        index, why = failure
        if call.made_up or not self.examples.is_fair(self.model.signature.feature_names):
            return f"{self.name} loads; it could not be judged by {kind} examples: {why}"
        raise self._reject(f"fails on an eval example: {why}", call.examples[index])

    def _choose_call(self) -> _Call:
        signature, size = self.model.signature, self._batch_size()
        made_up = signature.takes_examples and not self.examples.is_fair(signature.feature_names)
        if made_up:
            examples = [self.examples.make_up(signature)] * (size or 1)
        else:
            examples = self.examples.choose(signature, size)
        records = [example.SerializeToString() for example in examples]
        inputs = make_inputs(signature, records, exact=True)
        return _Call(examples=examples, inputs=inputs, made_up=made_up)

    def _batch_size(self) -> int | None:
        """How many examples a signature takes at once, if it is exact about that."""
        shapes = [info.shape for info in self.model.signature.inputs.values()]
        if [] in shapes:
            return 1
        return next((shape[0] for shape in shapes if shape and shape[0] > 0), None)

    def _find_failure(self, call: _Call) -> tuple[int, str] | None:
        """The first example on which the signature fails, and why; None if it works."""
        why = self._try(call.inputs)
        if why is None:
            return None
        if self._batch_size():
            return 0, why
        alone = (self._try(call.select(index)) for index in range(len(call.examples)))
        return next(((index, why) for index, why in enumerate(alone) if why), None)

    def _try(self, inputs: Arrays) -> str | None:
        """What is wrong with the result of one call; None if all of its floats are finite."""
        try:
            outputs = self.model.call(inputs)
        except CALL_ERRORS as error:
            return first_line(error)
        for name, array in outputs.items():
            if tf.dtypes.as_dtype(array.dtype).is_floating:
                values = array.astype(np.float64)
                if not np.isfinite(values).all():
                    return f"its output {name!r} is {values[~np.isfinite(values)][0]}."
        return None

    def _reject(self, what: str, example: Example | None = None) -> ModelRejected:
        folder = self.model.inputs.folder
        lines = [f"The signature {self.name!r} of the model in {folder} {what}"]
        if example is not None:
            shown = show_features(example, self.model.signature.feature_names)
            lines.append(f"The example: {shown}")
        lines.append(
            "Fix the signature, or publish the model without this check: Trainer(check=False)."
        )
        return ModelRejected("\n".join(lines))
