# SPDX-License-Identifier: Apache-2.0
"""An Estimator's EvalSavedModel, asked in a session: labels, predictions, and its own metrics.

A metric keeps its state in variables that examples add to. The states of batches are summed, and
the values are read from the sum.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from stoker.any_python.logs import hush_deprecations
from stoker.errors import ModelRejected
from stoker.evaluation.accumulators import RecordStatistic
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.config import EVAL, LABELS
from stoker.evaluation.metrics import Metric
from stoker.models.saved_model import read_graphs

_COUNT = "post_export_metrics/example_count"
"""What TFMA adds to an Estimator's own metrics, under its name for it."""

v1 = tf.compat.v1


@functools.cache
def load_eval_saved_model(folder: str) -> "EvalSavedModel | None":
    """The evaluation graph in a folder, loaded once; None if what is there is to be served."""
    if all(EVAL in graph.tags for graph in read_graphs(folder)):
        return EvalSavedModel(folder)
    return None


class EvalSavedModel:
    """An evaluation graph that is loaded."""

    def __init__(self, folder: str) -> None:
        hush_deprecations()  # of sessions: there is no other way to run such a graph
        self._session = v1.Session(graph=tf.Graph())
        with self._session.graph.as_default():
            loaded = v1.saved_model.load(self._session, [EVAL], folder)
            signature = loaded.signature_def[EVAL]
            if "iterator_initializer" in signature.inputs:
                raise ModelRejected(
                    f"The EvalSavedModel in {folder} reads its examples through an iterator, which "
                    "is not supported: let eval_input_receiver_fn parse them from the placeholder."
                )
            inputs, outputs = _tensors(signature.inputs), _tensors(signature.outputs)
            self._variables = v1.get_collection(v1.GraphKeys.METRIC_VARIABLES)
            self._given = [v1.placeholder(one.dtype.base_dtype) for one in self._variables]
            pairs = zip(self._variables, self._given, strict=True)
            self._assign = tf.group(*(one.assign(value) for one, value in pairs))
        self._examples = inputs["inputs/examples"]
        self._features = {
            name.removeprefix("features/"): tensor
            for name, tensor in inputs.items()
            if name.startswith(("features/", LABELS)) and tensor.shape.rank != 0
        }
        self._predictions = _select_below("predictions", outputs)
        found = _select_below("metrics", outputs)
        self._values = {
            name.removesuffix("/value"): tensor
            for name, tensor in found.items()
            if name.endswith("/value") and tensor.shape.rank == 0 and tensor.dtype.is_floating
        }
        self._updates = [one for name, one in found.items() if name.endswith("/update_op")]
        self._shapes = [tuple(one.shape) for one in self._variables]

    def __call__(self, records: Sequence[bytes]) -> dict[str, np.ndarray]:
        """The predictions by name."""
        return self._run(self._predictions, records)

    def preprocess(self, records: Sequence[bytes]) -> dict[str, np.ndarray]:
        """What the graph makes of the examples: its dense features, and the labels."""
        return self._run(self._features, records)

    @property
    def compiled(self) -> Compiled:
        """The Estimator's metrics, and how many examples there are."""
        width = 1 + sum(map(int, map(np.prod, self._shapes)))
        statistic = RecordStatistic("the Estimator's metrics", width, self._state)
        return Compiled(
            tuple(
                (Metric(name, statistic, functools.partial(self._value, name)), False)
                for name in [*self._values, _COUNT]
            )
        )

    def _run(self, tensors: Mapping[str, Any], records: Sequence[bytes]) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = self._session.run(
            dict(tensors), {self._examples: list(records)}
        )
        return found

    def _state(self, records: Sequence[bytes]) -> np.ndarray:
        """What some examples add: their number, and then each variable."""
        self._load([np.zeros(shape) for shape in self._shapes])
        self._session.run(self._updates, {self._examples: list(records)})
        values = self._session.run(self._variables)
        return np.concatenate([[len(records)], *(np.ravel(one) for one in values)])

    def _value(self, name: str, state: np.ndarray) -> float:
        if name == _COUNT:
            return float(state[0])
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        parts = np.split(state[1:], ends[:-1])
        self._load([part.reshape(one) for part, one in zip(parts, self._shapes, strict=True)])
        return float(self._session.run(self._values[name]))

    def _load(self, values: Sequence[np.ndarray]) -> None:
        self._session.run(self._assign, dict(zip(self._given, values, strict=True)))


def _tensors(infos: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a signature by name; sparse ones are not looked at."""
    graph = v1.get_default_graph()
    return {
        name: graph.get_tensor_by_name(info.name)
        for name, info in sorted(infos.items())
        if info.WhichOneof("encoding") == "name"
    }


def _select_below(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name.removeprefix(f"{prefix}/"): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
