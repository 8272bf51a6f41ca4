# SPDX-License-Identifier: Apache-2.0
"""The model check: a SavedModel loads, its variables are finite, and its signatures work.

A signature is called on eval examples that fit it; where none do, on rows that `fit` was given;
where none of those do, with values from the schema's domains, and then with others that are made
up. That it fails on these proves nothing, but no model is meant to answer NaN to all of them.

What decides is the default signature, or all where there is none. What the others do is told.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import ModelRejected
from stoker.models.eval_examples import NUM_CALLED, EvalExamples, show_features
from stoker.models.inputs import Arrays, Misfit, make_inputs
from stoker.models.made_up import choose_rows, make_up_inputs
from stoker.models.saved_model import MetaGraph, choose_graph, read_graphs, read_message
from stoker.models.serving_model import CALL_ERRORS, LOAD_ERRORS, ServingModel, first_line
from stoker.models.variable_search import BadVariable, find_bad_variables

_NUM_NAMED = 3
_WAY_OUT = "publish the model without this check: Trainer(check=False)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence on what was found out."""

    text: str
    is_open: bool = False
    """Whether something was not called, or with no values of the data: the user should know."""
    is_unproven: bool = False
    """Whether, for that reason, the model itself was not seen to work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """What was found out about a SavedModel that may be published."""

    signatures: dict[str, Any]
    """{name: {"inputs": {name: {"dtype": …, "shape": …}}, "outputs": …}}"""
    remarks: list[Remark]


def check_serving_model(folder: str, prefix: str, examples: EvalExamples) -> CheckedModel:
    """Look at the variables, load the model and call its signatures; ModelRejected if one fails.

    `prefix` goes before the names of signatures, where there are several SavedModels.
    """
    graph = choose_graph(read_graphs(folder), "serve")
    what = prefix.removesuffix("/") or "The SavedModel"
    remarks = [*_search_variables(folder, graph, what)]
    loaded = _load(folder, lambda: tf.saved_model.load(folder, tags=sorted(graph.tags)))
    if loaded is None:
        remarks.append(_cannot_load(what))
    elif not graph.signatures:
        text = f"{what} loads; it was not called: it has no signatures."
        remarks.append(Remark(text=text, is_open=True, is_unproven=True))
    else:
        for name in _order_signatures(graph):
            one = _SignatureCheck(
                name=prefix + name,
                model=ServingModel(folder, name, graph.tags, loaded=loaded),
                examples=examples,
                decides=name == (graph.default_signature or name),
            )
            remarks.append(one.run())
    return _describe(graph, prefix, remarks)


def check_eval_model(folder: str, prefix: str) -> CheckedModel:
    """Load an EvalSavedModel, which is a graph of TensorFlow 1, or raise ModelRejected."""
    graph = choose_graph(read_graphs(folder), "eval")
    what = prefix.removesuffix("/")

    def load() -> Any:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            return tf.compat.v1.saved_model.load(session, sorted(graph.tags), folder)

    remarks = [*_search_variables(folder, graph, what)]
    loads = _load(folder, load) is not None
    remarks.append(Remark(text=f"{what} loads.") if loads else _cannot_load(what))
    return _describe(graph, prefix, remarks)


def _describe(graph: MetaGraph, prefix: str, remarks: list[Remark]) -> CheckedModel:
    signatures = {prefix + name: one.to_dict() for name, one in graph.signatures.items()}
    return CheckedModel(signatures=signatures, remarks=remarks)


def _order_signatures(graph: MetaGraph) -> list[str]:
    """The one that decides first: what others do to the loaded model is not seen by it."""
    return sorted(graph.signatures, key=lambda name: (name != graph.default_signature, name))


def _cannot_load(what: str) -> Remark:
    why = "it has an op of a library that was not imported"
    text = f"{what} could not be loaded here, and was not called: {why}."
    return Remark(text=text, is_open=True, is_unproven=True)


def _search_variables(folder: str, graph: MetaGraph, what: str) -> Iterator[Remark]:
    """What is not finite and need not be; ModelRejected for a variable that no server can use."""
    message = read_message(folder, graph.tags)
    bad = _load(folder, lambda: find_bad_variables(folder, message)) or []
    if fatal := [one for one in bad if one.is_fatal]:
        raise ModelRejected(
            f"The model in {folder} has variables that are not finite: {_name(fatal)}. A "
            "smaller learning rate or clipped gradients often help; metrics.jsonl tells when it "
            f"began. Or {_WAY_OUT}"
        )
    if bad:
        text = f"{what} has variables that are not finite, where that may be meant: {_name(bad)}."
        yield Remark(text=text, is_open=True)


def _name(variables: list[BadVariable]) -> str:
    more = len(variables) - _NUM_NAMED
    names = ", ".join(map(str, variables[:_NUM_NAMED]))
    return f"{names} and {more} more" if more > 0 else names


def _load(folder: str, load: Callable[[], Any]) -> Any:
    """What `load` loads; None if it needs an op that only the user's own code can register."""
    try:
        return load()
    except LOAD_ERRORS as error:
        if "Op type not registered" in str(error):
            return None
        raise ModelRejected(
            f"The SavedModel in {folder} does not load: {first_line(error)} Save it again, or "
            f"{_WAY_OUT}"
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
class _Trouble:
    """What is wrong with a call."""

    why: str
    is_everywhere: bool = False
    """Whether the signature answers, with not one number that is finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignatureCheck:
    """One signature, and what it may be called with."""

    name: str
    model: ServingModel
    examples: EvalExamples
    decides: bool
    """Whether the model is rejected if it fails."""

    def run(self) -> Remark:
        """Call the signature; a sentence on how that went, or ModelRejected."""
        side_effect = self.model.signature.side_effect
        if side_effect and not self.decides:
            return self._leave_out(f"it {side_effect}")
        try:
            call = self._choose_call()
        except Misfit as misfit:
            if misfit.is_parsed and not self.examples.has_transform_graph:
                return self._reject(f"cannot take the eval examples: {misfit}")
            if side_effect:
                return self._leave_out(f"it {side_effect}")
            return self._try_others(misfit)
        failure = self._find_failure(call)
        kind = "made-up raw" if call.made_up else "eval"
        num = len(call.examples)
        if failure is None:
            text = f"{self.name} works on {num} {kind} example{'s' * (num > 1)}"
            return Remark(text=f"{text}{self._describe_schema() if call.made_up else ''}.")
        index, trouble = failure
        if call.made_up or not self.examples.is_fair(self.model.signature.feature_names):
            return self._leave_open(f"could not be judged by {kind} examples: {trouble.why}")
        return self._reject(f"fails on an eval example: {trouble.why}", call.examples[index])

    def _leave_open(self, why: str) -> Remark:
        """Say that the signature was seen neither to work nor to fail."""
        text = f"{self.name} loads; it {why.removesuffix('.')}."
        return Remark(text=text, is_open=True, is_unproven=self.decides)

    def _leave_out(self, why: str) -> Remark:
        return self._leave_open(f"was not called: {why}")

    def _try_others(self, misfit: Misfit) -> Remark:
        """Call it with other values than eval examples, since these do not fit."""
        if rows := choose_rows(self.model.signature, self.examples.rows_of_fit):
            trouble = self._try(rows)
            if trouble is None:
                return Remark(text=f"{self.name} works on rows that fit was given, since {misfit}.")
            if trouble.is_everywhere:
                return self._reject(
                    f"gives no finite number for rows that fit was given ({misfit}): {trouble.why}"
                )
        return self._make_up(misfit)

    def _make_up(self, misfit: Misfit) -> Remark:
        """Call it with made-up values, since there are no others."""
        troubles: list[_Trouble] = []
        try:
            for what, inputs in self._list_made_up():
                trouble = self._try(inputs)
                if trouble is None:
                    text = f"{self.name} works on {what}, since {misfit}."
                    return Remark(text=text, is_open=True)
                troubles.append(trouble)
        except Misfit as other:
            return self._leave_out(f"{misfit}, and {other}")
        answers = [trouble for trouble in troubles if trouble.is_everywhere]
        if answers and len(answers) == len(troubles):
            return self._reject(
                f"gives no finite number for any made-up values ({misfit}): {answers[0].why}"
            )
        return self._leave_open(
            f"could not be judged by made-up values ({misfit}): {troubles[0].why}"
        )

    def _list_made_up(self) -> Iterator[tuple[str, Arrays]]:
        """Inputs from the schema, if it knows of any, and plain ones, each with what they are."""
        signature = self.model.signature
        schema_values = self.examples.schema_values
        is_parsed = signature.parses is not None
        with contextlib.suppress(TypeError):  # what cannot be drawn is told below
            if drawn := schema_values.draw_inputs(signature):
                yield f"values from the schema{self._describe_schema()}", drawn
        what = f"made-up values{self._describe_schema() if is_parsed else ''}"
        text = self.examples.make_up(signature, 1)[0].SerializeToString() if is_parsed else b"1"
        for inputs in make_up_inputs(signature, text):
            yield what, inputs

    def _describe_schema(self) -> str:
        names = self.model.signature.parses or self.model.signature.inputs
        values = self.examples.schema_values
        return f" ({values.describe(sorted(names))})" if values.features else ""

    def _choose_call(self) -> _Call:
        signature, size = self.model.signature, self._batch_size()
        made_up = signature.takes_examples and not self.examples.is_fair(signature.feature_names)
        if made_up:
            examples = self.examples.make_up(signature, size or NUM_CALLED)
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

    def _find_failure(self, call: _Call) -> tuple[int, _Trouble] | None:
        """The first example on which the signature fails, and why; None if it works."""
        trouble = self._try(call.inputs)
        if trouble is None:
            return None
        if self._batch_size():
            return 0, trouble
        alone = (self._try(call.select(index)) for index in range(len(call.examples)))
        return next(((index, found) for index, found in enumerate(alone) if found), None)

    def _try(self, inputs: Arrays) -> _Trouble | None:
        """What is wrong with the result of one call; None if all of its floats are finite."""
        try:
            outputs = self.model.call(inputs)
        except CALL_ERRORS as error:
            return _Trouble(why=first_line(error))
        floats = {
            name: array.astype(np.float64)
            for name, array in outputs.items()
            if tf.dtypes.as_dtype(array.dtype).is_floating
        }
        is_everywhere = not any(np.isfinite(values).any() for values in floats.values())
        for name, values in floats.items():
            if not np.isfinite(values).all():
                why = f"its output {name!r} is {values[~np.isfinite(values)][0]}."
                return _Trouble(why=why, is_everywhere=is_everywhere)
        return None

    def _reject(self, what: str, example: Example | None = None) -> Remark:
        """Raise ModelRejected, if this signature decides; else tell what is wrong with it."""
        if not self.decides:
            return Remark(text=f"{self.name} {what.rstrip('.')}.", is_open=True)
        folder = self.model.inputs.folder
        names = self.model.signature.feature_names
        shown = "" if example is None else f"The example: {show_features(example, names)}. "
        raise ModelRejected(
            f"The signature {self.name!r} of the model in {folder} {what}\n"
            f"{shown}Fix the signature, or {_WAY_OUT}"
        )
