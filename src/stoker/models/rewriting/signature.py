# SPDX-License-Identifier: Apache-2.0
"""The signature of a SavedModel that is to be rewritten, as it was saved."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from stoker.errors import RewriteFailed
from stoker.models.rewriting.comparison import Arrays
from stoker.models.rewriting.cut import ParsedFeature, parsed_features

__all__ = ["Signature", "first_line", "flat", "load_signature"]

_SERVING_DEFAULT = "serving_default"


class Signature:
    """A loaded signature: how it is called, and the graph behind it."""

    def __init__(self, path: str, key: str, model: Any) -> None:
        self.path = path
        self.key = key
        self.function = model.signatures[key]
        self.inputs: Mapping[str, Any] = self.function.structured_input_signature[1]
        self.outputs: Mapping[str, Any] = self.function.structured_outputs
        self._model = model  # whose tables live as long as it does
        self._frozen: Any = None

    def __call__(self, arrays: Arrays) -> Arrays:
        """What the signature answers, output by output."""
        tensors = {name: tf.constant(arrays[name], self.inputs[name].dtype) for name in self.inputs}
        return {name: tensor.numpy() for name, tensor in self.function(**tensors).items()}

    @property
    def is_plain(self) -> bool:
        """Whether it takes and gives numbers only, and looks nothing up."""
        return not self.tables and not any(spec.dtype == tf.string for spec in self._specs)

    @property
    def takes_examples(self) -> bool:
        """Whether its only input is serialized tf.Examples."""
        return len(self.inputs) == 1 and not self.is_plain and bool(self.parses)

    @property
    def parses(self) -> dict[str, ParsedFeature]:
        """What it reads from tf.Examples, by the names of the features."""
        return parsed_features(self.frozen.graph)

    @property
    def frozen(self) -> Any:
        """The same function as one flat graph, with constants for variables."""
        if self._frozen is None:
            self._frozen = flat(self.function)
        return self._frozen

    @property
    def arguments(self) -> dict[str, Any]:
        """The placeholders of the flat graph by the names of the inputs."""
        there = {tensor.name: tensor for tensor in self.frozen.inputs}
        named = zip(sorted(self.inputs), self.function.inputs, strict=False)
        return {name: there[tensor.name] for name, tensor in named if tensor.name in there}

    @property
    def tables(self) -> dict[str, Any]:
        """What the flat graph takes besides: its tables, by the names of their placeholders."""
        there = {tensor.name for tensor in self.frozen.inputs}
        captured = zip(
            reversed(self.function.inputs), reversed(self.function.captured_inputs), strict=False
        )
        return {inner.name: outer for inner, outer in captured if inner.name in there}

    @property
    def _specs(self) -> list[Any]:
        return [*self.inputs.values(), *self.outputs.values()]


def flat(function: Any) -> Any:
    """A concrete function as one graph: with constants for variables, and without calls."""
    return convert_variables_to_constants_v2(
        function, lower_control_flow=False, aggressive_inlining=True
    )


def first_line(error: BaseException) -> str:
    """What an op or a converter had to say, without what TensorFlow puts around it."""
    around = ("Graph execution error", "Detected at", "<stack traces", " ", "\t")
    lines = [line for line in str(error).splitlines() if line and not line.startswith(around)]
    text = (lines or [type(error).__name__])[0].removeprefix("Name: <unknown>, ")
    return text if text.endswith(".") else f"{text}."


def load_signature(path: str, key: str | None = None) -> Signature:
    """The signature of that name; by default the one for serving, or the only one."""
    try:
        model = tf.saved_model.load(path)
    except (tf.errors.OpError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise RewriteFailed(
            f"{path} cannot be loaded as a SavedModel: {first_line(error)}"
        ) from error
    names = sorted(model.signatures)
    chosen = key or (names[0] if len(names) == 1 else _SERVING_DEFAULT)
    if chosen not in names:
        raise RewriteFailed(
            f"The SavedModel in {path} has no signature {chosen!r}; it has "
            f"{', '.join(names) or 'none'}. Choose one of them, or save the model with one: "
            "tf.saved_model.save(model, path, signatures={'serving_default': …})."
        )
    return Signature(path, chosen, model)
