# SPDX-License-Identifier: Apache-2.0
"""A SavedModel as TFMA asks it: what is called depends on what the examples have."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from stoker.any_python.lines import say
from stoker.errors import BadData, ModelRejected
from stoker.models.inputs import Arrays, Misfit, has_feature, make_inputs, takes_some
from stoker.models.saved_model import Signature, TensorInfo
from stoker.models.serving_model import CALL_ERRORS, ServingModel, check_rows, first_line

_KERAS_FILE = "keras_metadata.pb"


class EvaluatedModel:
    """A SavedModel, asked by the signature that is named, or else by its default one.

    Where none is named, and the examples are not what the default one parses but have the inputs
    of the Keras model itself, as transformed ones do, the model itself is called.
    """

    def __init__(self, folder: str, signature_name: str, *, is_keras: bool) -> None:
        self._serving = ServingModel(folder, signature_name)
        may_call = is_keras and not signature_name
        self._itself = KerasCall.find(self._serving.loaded, folder) if may_call else None
        self._chosen: Callable[[Sequence[bytes]], Arrays] | None = None

    def __call__(self, records: Sequence[bytes]) -> Arrays:
        """The outputs for some serialized tf.Examples, a row for each."""
        if self._chosen is None:
            self._chosen = self._choose(records)
        return self._chosen(records)

    def _choose(self, records: Sequence[bytes]) -> Callable[[Sequence[bytes]], Arrays]:
        """What answers for examples such as these; TFMA decides so by their features, too."""
        signature = self._serving.signature
        if takes_some(signature, records):
            return self._serving
        if self._itself and takes_some(self._itself.signature, records):
            return self._itself
        name, *others = signature.inputs
        is_text = signature.inputs[name].dtype == "string" and not others
        if signature.takes_examples or not is_text or has_feature(records, name):
            return self._serving
        say(
            f"{self._serving.inputs} takes text, and the examples have no feature {name!r}: it is "
            "given whole examples, serialized, as by TFMA."
        )
        return self._ask_with_whole_examples

    def _ask_with_whole_examples(self, records: Sequence[bytes]) -> Arrays:
        ((name, info),) = self._serving.signature.inputs.items()
        rows = np.array(records, object)
        outputs = self._serving.ask({name: rows[:, None] if len(info.shape or []) == 2 else rows})
        check_rows(outputs, len(records), str(self._serving.inputs))
        return outputs


class KerasCall:
    """A model that Keras 2 saved, called as a layer is: with features by its inputs' names."""

    def __init__(self, loaded: Any, folder: str, inputs: Any, arguments: Sequence[Any]) -> None:
        self._loaded = loaded
        self._folder = folder
        self._inputs = inputs
        self._arguments = arguments
        infos = {one.name: _describe(one) for one in tf.nest.flatten(inputs)}
        self.signature = Signature(inputs=infos, outputs={}, parses=None)

    @classmethod
    def find(cls, loaded: Any, folder: str) -> "KerasCall | None":
        """How a loaded model is called; None if not by Keras, or not by dense features alone."""
        if not os.path.isfile(os.path.join(folder, _KERAS_FILE)):
            return None
        for function in getattr(loaded.__call__, "concrete_functions", ()):
            (inputs, *arguments), _ = function.structured_input_signature
            is_dense = all(isinstance(one, tf.TensorSpec) for one in tf.nest.flatten(inputs))
            gives_one = isinstance(function.structured_outputs, (tf.TensorSpec, tf.Tensor, dict))
            if is_dense and gives_one and True not in arguments:  # True is for training
                return cls(loaded, folder, inputs, arguments)
        return None

    def __call__(self, records: Sequence[bytes]) -> Arrays:
        """The outputs for some serialized tf.Examples, a row for each."""
        try:
            arrays = make_inputs(self.signature, records)
        except Misfit as misfit:
            raise BadData(
                f"{self} cannot take the examples: {misfit}."
                " Name a signature that can, or save one."
            ) from misfit
        tensors = [tf.constant(arrays[one.name]) for one in tf.nest.flatten(self._inputs)]
        try:
            found = self._loaded(tf.nest.pack_sequence_as(self._inputs, tensors), *self._arguments)
        except CALL_ERRORS as error:
            raise ModelRejected(
                f"{self} fails: {first_line(error)} Correct the model, or name another signature."
            ) from error
        outputs = found if isinstance(found, dict) else {"output": found}
        arrays = {name: tensor.numpy() for name, tensor in outputs.items()}
        check_rows(arrays, len(records), str(self))
        return arrays

    def __str__(self) -> str:
        return f"The Keras model in {self._folder}"


def _describe(spec: tf.TensorSpec) -> TensorInfo:
    shape = None if spec.shape.rank is None else [-1 if n is None else n for n in spec.shape]
    return TensorInfo(dtype=spec.dtype.name, shape=shape)
