# SPDX-License-Identifier: Apache-2.0
"""Where to cut a signature's graph, so that what is left takes plain tensors.

    examples ─▶ parse ─▶ look up words, fill gaps ─┃─▶ scale, embed, multiply ─▶ outputs
                          the front                ┃            the rest

Parsing, words, tables and sparse tensors have no place in most formats; neither has what a
converter has refused. All of that, and what it is computed from, is the front. The largest part of
the graph that is free of it is the rest; the tensors between the two are what the rest takes.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from stoker.models.saved_model import read_parser

_FOREIGN_TYPES = (tf.string, tf.resource, tf.variant)
_FOREIGN_PREFIXES = ("Sparse", "Ragged", "ParseExample", "ParseSingleExample")
_ARITHMETIC = {"Add", "AddV2", "Div", "DivNoNan", "Log", "Log1p", "Mul", "RealDiv", "Sub"}
_PARSERS = ("ParseExample", "ParseExampleV2", "ParseSingleExample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """A tensor that the front gives to the rest."""

    tensor: Any
    features: frozenset[str]
    """The features, or inputs of the signature, that it is computed from."""
    passed: tuple[str, ...]
    """The kinds of ops in the front that it has passed, besides parsing."""
    scaled: bool = False
    """Whether it has been brought to another scale."""
    default: Any = None
    """What stands in it for a missing value, if it was made dense right before the cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The tensors between the front and the rest."""

    borders: list[Border] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    """Tensors of the front that no example changes, such as the size of a table."""


class CutSearch:
    """Finds the cut that leaves as much as possible behind it, without ops of kinds in `avoid`.

    `arguments` are the placeholders of the signature by name, `outputs` the tensors it gives. With
    `for_integers`, numbers that are first brought to another scale are taken in that one.
    """

    def __init__(
        self,
        graph: tf.Graph,
        arguments: Mapping[str, Any],
        outputs: Collection[Any],
        *,
        avoid: Collection[str] = (),
        for_integers: bool = False,
    ) -> None:
        self._avoid = frozenset(avoid)
        self._for_integers = for_integers
        self._outputs = list(outputs)
        needed = set(_find_upstream(tensor.op for tensor in outputs))
        self._ops = [op for op in graph.get_operations() if op in needed]
        self._arguments = {tensor.op: name for name, tensor in arguments.items()}
        self._features = _trace_features(self._ops, self._arguments)
        self._front = set(_find_upstream(op for op in self._ops if self._is_foreign(op)))
        inner = self._front | self._arguments.keys()
        self._rest = [op for op in self._ops if op not in inner]

    def find(self) -> Cut:
        """The tensors to cut at, and those that no example changes."""
        groups: dict[frozenset[str], list[Any]] = {}
        for name, tensor in self._find_crossing().items():
            groups.setdefault(self._features[name], []).append(tensor)
        constants = groups.pop(frozenset(), [])
        borders = [
            self._border(tensor, features)
            for features, tensors in groups.items()
            for tensor in self._join(features, tensors)
        ]
        return Cut(borders=borders, constants=constants)

    def _is_foreign(self, op: Any) -> bool:
        varying = [one for one in (*op.inputs, *op.outputs) if one.name in self._features]
        if varying and (op.type in self._avoid or op.type.startswith(_FOREIGN_PREFIXES)):
            return True
        return any(tensor.dtype in _FOREIGN_TYPES for tensor in varying)

    def _find_crossing(self) -> dict[str, Any]:
        """By name, the tensors of the front, or of the signature, that the rest reads or gives."""
        rest = set(self._rest)
        read = [one for op in self._rest for one in op.inputs] + self._outputs
        return {one.name: one for one in read if one.op not in rest and one.name in self._features}

    def _join(self, features: frozenset[str], tensors: list[Any]) -> list[Any]:
        """One tensor through which all of these pass, if they do before others join them."""
        gates = self._find_gates(features, tensors)
        if len(tensors) > 1 and gates:
            tensors = [gates.pop(0).outputs[0]]
        if len(tensors) > 1 or not self._for_integers:
            return tensors
        return [self._rescale(tensors[0], gates)]

    def _rescale(self, tensor: Any, gates: list[Any]) -> Any:
        """The last of these that stands for the same: a position, or a number in another scale.

        Positions may be floats in between, as Keras has them, where rounding would change them.
        """
        found = [gate.outputs[0] for gate in reversed(gates)]
        positions = (one for one in found if one.dtype.is_integer)
        numbers = (one for one in found if self._is_rescaled(one, tensor))
        return next(itertools.chain(positions, numbers, [tensor]))

    @staticmethod
    def _is_rescaled(found: Any, tensor: Any) -> bool:
        if not found.dtype.is_floating or None in (found.shape.rank, tensor.shape.rank):
            return False
        between = set(_find_upstream([found.op])) - set(_find_upstream([tensor.op]))
        arithmetic = any(op.type in _ARITHMETIC for op in between)
        return arithmetic and found.shape.as_list() == tensor.shape.as_list()

    def _find_gates(self, features: frozenset[str], tensors: list[Any]) -> list[Any]:
        """The ops of these features alone that every way from the tensors passes, nearest first."""
        own = [
            op
            for op in self._rest
            if any(self._features.get(one.name) == features for one in op.outputs)
        ]
        rest, inside, last = set(self._rest), set(own), {one.op for one in self._outputs}
        passed: dict[Any, set[Any]] = {}

        def from_here(outputs: Iterable[Any]) -> set[Any]:
            after = {user for one in outputs for user in one.consumers() if user in rest}
            if not after or not after <= inside:
                return set()
            return set.intersection(*(passed[user] for user in after))

        for op in reversed(own):
            passed[op] = {op} | (set() if op in last else from_here(op.outputs))
        common = set.intersection(*(from_here([tensor]) for tensor in tensors))
        return [op for op in own if op in common and len(op.outputs) == 1]

    def _border(self, tensor: Any, features: frozenset[str]) -> Border:
        before = _find_upstream([tensor.op])
        foreign = {op.type for op in before if op in self._front and self._is_foreign(op)}
        scaling = {op.type for op in before if op not in self._front} & _ARITHMETIC
        passed = foreign - {"Identity", "Placeholder", "Shape", *_PARSERS}
        return Border(
            tensor=tensor,
            features=features,
            passed=tuple(sorted(passed)),
            scaled=bool(scaling) and tensor.dtype.is_floating,
            default=_default(tensor),
        )


def _find_upstream(ops: Iterable[Any]) -> list[Any]:
    """These ops, and all that they are computed from."""
    reached = dict.fromkeys(ops)
    waiting = list(reached)
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.op not in reached:
                reached[tensor.op] = None
                waiting.append(tensor.op)
    return list(reached)


def _trace_features(ops: Iterable[Any], arguments: Mapping[Any, str]) -> dict[str, frozenset[str]]:
    """For each tensor that is no constant, by name, what it is computed from."""
    found: dict[str, frozenset[str]] = {}
    # How many examples there are is asked of them as they come; that is about no feature.
    parsed: frozenset[str] = frozenset()
    for op in ops:
        before = [found[one.name] for one in op.inputs if one.name in found]
        if op.type == "Placeholder":  # an argument, or a table, which is the same for all examples
            before = [frozenset([arguments[op]] if op in arguments else [])]
        names = _list_parsed(op)
        if names:
            parsed = parsed.union(*before)
        for index, tensor in enumerate(op.outputs):
            if names:
                found[tensor.name] = frozenset([names[index]])
            elif before:
                every = frozenset().union(*before)
                found[tensor.name] = every - parsed or every
    return found


def before_identities(tensor: Any) -> Any:
    """What a tensor repeats, perhaps through several ops."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _default(tensor: Any) -> Any:
    """What a sparse tensor was filled with, if this one comes right from there."""
    op = before_identities(tensor).op
    if op.type != "SparseToDense":
        return None
    value = tf.get_static_value(op.inputs[3])
    return None if value is None else value.item()


def _list_parsed(op: Any) -> list[str]:
    """Which feature each output of a parser is about; nothing for other ops."""
    if op.type not in _PARSERS:
        return []
    parser = read_parser(op.node_def, {one.name: one.node_def for one in _find_upstream([op])})
    return parser.outputs if parser else []
