# SPDX-License-Identifier: Apache-2.0
"""A model as a server sees it: tf.Examples go to one of its signatures, arrays come back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from stoker.errors import BadData, ModelRejected
from stoker.models.inputs import Arrays, Misfit, make_inputs
from stoker.models.saved_model import SERVING_DEFAULT, MetaGraph, read_graphs

LOAD_ERRORS = (tf.errors.OpError, OSError, RuntimeError, TypeError, ValueError)
"""What TensorFlow raises where a SavedModel does not load."""
CALL_ERRORS = (tf.errors.OpError, TypeError, ValueError)
"""What it raises where a signature cannot be called."""


def first_line(error: BaseException) -> str:
    """What an op or a converter had to say, without what TensorFlow puts around it."""
    around = ("Graph execution error", "Detected at", "<stack traces", " ", "\t")
    lines = [line for line in str(error).splitlines() if line and not line.startswith(around)]
    text = (lines or [type(error).__name__])[0].removeprefix("Name: <unknown>, ")
    return text if text.endswith(".") else f"{text}."


class SignatureInputs:
    """A signature of a SavedModel, and tf.Examples as what it takes; nothing is loaded.

    An empty `name` means the default signature, or the only one.
    """

    def __init__(self, folder: str, name: str = "", tags: Collection[str] = ("serve",)) -> None:
        self.folder = folder
        self.graph = _find_graph(folder, frozenset(tags))
        self.name = name or self.graph.default_signature or SERVING_DEFAULT
        if self.name not in self.graph.signatures:
            known = ", ".join(sorted(self.graph.signatures)) or "none"
            raise ModelRejected(
                f"The model in {folder} has no signature {self.name!r}; it has {known}. Name one "
                "that it has, or save it with this one: tf.saved_model.save(…, signatures={…})."
            )
        self.signature = self.graph.signatures[self.name]

    def make(self, records: Sequence[bytes]) -> Arrays:
        """What the signature is called with for some serialized tf.Examples."""
        try:
            return make_inputs(self.signature, records)
        except Misfit as misfit:
            raise BadData(
                f"{self} cannot take the examples: {misfit}."
                " Name a signature that can, or save one."
            ) from misfit

    def __str__(self) -> str:
        return f"The signature {self.name!r} of the model in {self.folder}"


class ServingModel:
    """A SavedModel that is loaded, unless it is given as `loaded`, and asked by a signature."""

    def __init__(
        self,
        folder: str,
        signature_name: str = "",
        tags: Collection[str] = ("serve",),
        *,
        loaded: Any = None,
    ) -> None:
        self.inputs = SignatureInputs(folder, signature_name, tags)
        self.signature = self.inputs.signature
        self.signature_name = self.inputs.name
        self.loaded = loaded or tf.saved_model.load(folder, tags=sorted(self.inputs.graph.tags))
        self.function = self.loaded.signatures[self.signature_name]

    def __call__(self, records: Sequence[bytes]) -> Arrays:
        """The outputs for some serialized tf.Examples, a row for each."""
        outputs = self.ask(self.inputs.make(records))
        check_rows(outputs, len(records), str(self.inputs))
        return outputs

    def ask(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs for some inputs, or ModelRejected."""
        try:
            return self.call(inputs)
        except CALL_ERRORS as error:
            raise ModelRejected(
                f"{self.inputs} fails: {first_line(error)} Correct the model, or name another "
                "signature."
            ) from error

    def call(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs that are dense; what TensorFlow raises is one of CALL_ERRORS."""
        tensors = {name: tf.constant(array) for name, array in inputs.items()}
        outputs = self.function(**tensors)
        return {
            name: tensor.numpy()
            for name, tensor in outputs.items()
            if isinstance(tensor, tf.Tensor)
        }


def check_rows(outputs: Arrays, num: int, what: str) -> None:
    """Refuse answers that have not a row for each of so many examples."""
    for name, array in outputs.items():
        if not array.shape or len(array) != num:
            raise ModelRejected(
                f"{what} gives {name!r} the shape {list(array.shape)} for {num} examples: it "
                "should have a row for each."
            )


def _find_graph(folder: str, tags: frozenset[str]) -> MetaGraph:
    graphs = read_graphs(folder)
    for graph in graphs:
        if graph.tags == tags:
            return graph
    known = ", ".join(str(sorted(graph.tags)) for graph in graphs)
    raise ModelRejected(
        f"The model in {folder} has no graph with the tags {sorted(tags)}; it has {known}."
        " Name tags that it has."
    )
