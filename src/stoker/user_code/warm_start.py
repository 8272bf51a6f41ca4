# SPDX-License-Identifier: Apache-2.0
"""Warm start: a Keras model begins with the weights of the model that an earlier run published.

model = build_model()
stoker.warm_start(model, fn_args, vocabularies={"company_embedding": "company"})
model.fit(…)
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stoker.any_python.lines import say
from stoker.user_code.fn_args import FnArgs

if TYPE_CHECKING:
    import numpy as np

Vocabulary = Sequence[bytes]
Vocabularies = Mapping[str, "str | tuple[Sequence[str | bytes], Sequence[str | bytes]]"]


@dataclass(frozen=True)
class WarmStart:
    """What a warm start took from the base model, and what it left, by the names of weights."""

    base_model: str | None
    taken: list[str] = field(default_factory=list)
    mapped: dict[str, int] = field(default_factory=dict)
    """Weights whose rows were mapped by vocabulary entry, and how many rows were known."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Weights that keep their initial values, and why."""

    def __str__(self) -> str:
        if self.base_model is None:
            return "warm start: no base model yet, so this is a cold start"
        total = len(self.taken) + len(self.mapped) + len(self.skipped)
        lines = [
            f"warm start: {total - len(self.skipped)} of {total} weights from {self.base_model}"
        ]
        lines += [f"  {name}: {rows} rows by vocabulary" for name, rows in self.mapped.items()]
        lines += [f"  {name} skipped: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)


def warm_start(
    model: Any, fn_args: FnArgs, *, vocabularies: Vocabularies | None = None
) -> WarmStart:
    """Copy the base model's weights into a built Keras model, by layer name and shape.

    Does nothing on the first run, when `fn_args.base_model` is None. `vocabularies` names, for an
    embedding layer, the vocabulary that its rows stand for, so that rows are mapped by entry and
    not by position: a vocabulary of the transform graph, or the old and the new list of entries.
    What was taken and what was skipped is printed and returned.
    """
    if fn_args.base_model is None:
        report = WarmStart(None)
        say(report)
        return report
    if not model.weights:
        raise ValueError(
            "warm_start needs a model that is built: give it an Input, or call it once on a batch."
        )
    report = WarmStart(fn_args.base_model)
    old = _read_weights(fn_args.base_model)
    entries = {
        layer: _read_entries(vocabulary, fn_args)
        for layer, vocabulary in (vocabularies or {}).items()
    }
    _check_layers(model, entries)
    for weight in model.weights:
        _start_weight(weight, old, entries, report)
    if not (report.taken or report.mapped):
        raise ValueError(
            f"The base model at {fn_args.base_model} has none of this model's weights. It has "
            f"{_list_few(old)}; this model has {_list_few(report.skipped)}. Is it of another "
            "architecture?"
        )
    say(report)
    return report


def _start_weight(
    weight: Any,
    old: "Mapping[str, np.ndarray]",
    entries: Mapping[str, tuple[Vocabulary, Vocabulary]],
    report: WarmStart,
) -> None:
    name = _name_of(weight)
    layer = name.split("/")[-2] if "/" in name else name
    found = _find(name, old)
    shape = tuple(weight.shape)
    if found is None:
        report.skipped[name] = "the base model has no such weight"
    elif layer in entries and found.ndim == len(shape) and found.shape[1:] == shape[1:]:
        value, known = _map_rows(found, weight.numpy(), *entries[layer])
        weight.assign(value)
        report.mapped[name] = known
    elif found.shape != shape:
        report.skipped[name] = f"its shape is {found.shape} there and {shape} here"
        if found.ndim == len(shape) and found.shape[1:] == shape[1:]:
            report.skipped[name] += (
                f"; if its rows stand for a vocabulary, name it: vocabularies={{{layer!r}: …}}"
            )
    else:
        weight.assign(found)
        report.taken.append(name)


def _map_rows(
    old: "np.ndarray", new: "np.ndarray", old_entries: Vocabulary, new_entries: Vocabulary
) -> "tuple[np.ndarray, int]":
    """`new` with the old row of each entry that is known; rows after the vocabulary are buckets."""
    position = {entry: row for row, entry in enumerate(old_entries)}
    value, known = new.copy(), 0
    for row, entry in enumerate(new_entries[: len(new)]):
        before = position.get(entry)
        if before is not None and before < len(old):
            value[row] = old[before]
            known += 1
    buckets = min(len(old) - len(old_entries), len(new) - len(new_entries))
    for bucket in range(max(0, buckets)):
        value[len(new_entries) + bucket] = old[len(old_entries) + bucket]
    return value, known


def _name_of(weight: Any) -> str:
    """`layer/weight`: Keras 3 calls it a path, Keras 2 a name with a number of its own."""
    return str(getattr(weight, "path", None) or weight.name).partition(":")[0]


def _find(name: str, old: "Mapping[str, np.ndarray]") -> "np.ndarray | None":
    """The weight of the same name, or the only one of the same layer and weight name."""
    if name in old:
        return old[name]
    ending = "/".join(name.split("/")[-2:])
    alike = [key for key in old if key == ending or key.endswith("/" + ending)]
    return old[alike[0]] if len(alike) == 1 else None


def _read_weights(model_dir: str) -> "dict[str, np.ndarray]":
    """The variables of a SavedModel by name, whichever Keras or Estimator wrote it."""
    import tensorflow as tf
    from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

    prefix = os.path.join(model_dir, "variables", "variables")
    if not os.path.exists(prefix + ".index"):
        raise ValueError(
            f"The base model at {model_dir} is not a SavedModel with variables."
            " Give the model of a Trainer."
        )
    reader = tf.train.load_checkpoint(prefix)
    graph_key = "_CHECKPOINTABLE_OBJECT_GRAPH"
    if not reader.has_tensor(graph_key):  # written by a session: the keys are the names
        return {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map()}
    graph = TrackableObjectGraph.FromString(reader.get_tensor(graph_key))
    keys = {
        attribute.full_name: attribute.checkpoint_key
        for node in graph.nodes
        for attribute in node.attributes
        if attribute.name == "VARIABLE_VALUE"
        and not attribute.checkpoint_key.startswith("optimizer")
    }
    return {name: reader.get_tensor(key) for name, key in keys.items()}


def _read_entries(vocabulary: Any, fn_args: FnArgs) -> tuple[Vocabulary, Vocabulary]:
    if not isinstance(vocabulary, str):
        old, new = vocabulary
        return [_as_bytes(entry) for entry in old], [_as_bytes(entry) for entry in new]
    if not fn_args.transform_output:
        raise ValueError(
            f"warm_start: the vocabulary {vocabulary!r} is looked up in the transform graph, and "
            "this Trainer has none. Give the old and the new list of entries instead."
        )
    import tensorflow_transform as tft

    graph = tft.TFTransformOutput(fn_args.transform_output)
    new_file = graph.vocabulary_file_by_name(vocabulary)
    if not new_file:
        raise ValueError(
            f"warm_start: the transform graph at {fn_args.transform_output} has no vocabulary "
            f"{vocabulary!r}."
            " Name one that Transform makes."
        )
    old_file = os.path.join(str(fn_args.base_model), "assets", os.path.basename(new_file))
    if not os.path.exists(old_file):
        raise ValueError(
            f"warm_start: the base model has no vocabulary file {old_file}. Does its serving "
            "signature use the transform layer? Else give the old and the new list of entries."
        )
    with open(old_file, "rb") as file:
        old_entries = file.read().splitlines()
    return old_entries, list(graph.vocabulary_by_name(vocabulary))


def _as_bytes(entry: str | bytes) -> bytes:
    return entry.encode() if isinstance(entry, str) else entry


def _check_layers(model: Any, entries: Mapping[str, Any]) -> None:
    layers = [layer.name for layer in model.layers]
    if unknown := sorted(set(entries) - set(layers)):
        raise ValueError(
            f"warm_start: the model has no layer {unknown[0]!r} for a vocabulary; it has "
            f"{', '.join(layers)}."
        )


def _list_few(names: Mapping[str, Any]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
