# SPDX-License-Identifier: Apache-2.0
"""A signature as a function on plain tensors, which is what the converters convert.

It has constants for variables: TFLite keeps those of a trained Keras model as variables, and never
gives them their values. A signature on numbers becomes one as a whole. One on tf.Examples or words
is cut (cut.py): the part behind the cut is converted, and the part before it makes, of examples,
what the other takes.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from stoker.errors import RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.rewriting.cut import Border, Cut, CutSearch, before_identities
from stoker.models.rewriting.one_hot import spell_out_one_hot
from stoker.models.rewriting.signature import FlatSignature, flatten


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A tensor that a rewritten model takes; a size of -1 in its shape may be any."""

    name: str
    dtype: str
    shape: list[int] | None
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """What is said about it in a report and in a TFLite file."""
        return {"dtype": self.dtype, "shape": self.shape, "meaning": self.meaning}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainModel:
    """What is converted, and how it is fed from what the signature takes."""

    signature: FlatSignature
    function: Any
    """A concrete function on the inputs, by name."""
    inputs: list[Input]
    outputs: list[str]
    left_out: list[str]
    """The signature's outputs that are words, which the rewritten model does not give."""
    prepare: Callable[[Arrays], Arrays]
    """Makes the inputs of what the signature takes."""
    is_cut: bool

    def save(self, folder: str) -> None:
        """Write it as a SavedModel whose signature has the name of the original one."""
        tf.saved_model.save(tf.Module(), folder, signatures={self.signature.key: self.function})

    def flat_graph(self) -> tuple[dict[str, str], dict[str, str], Any]:
        """The function as a graph without functions and variables.

        The names of its tensors are given to those of the inputs and outputs, then the graph.
        """
        frozen = flatten(self.function)
        there = {tensor.name for tensor in frozen.inputs}
        named = zip(self.function.inputs, self.inputs, strict=True)
        inputs = {tensor.name: one.name for tensor, one in named if tensor.name in there}
        outputs = zip((one.name for one in frozen.outputs), sorted(self.outputs), strict=True)
        return inputs, dict(outputs), frozen.graph.as_graph_def()


def make_plain(
    signature: FlatSignature,
    raw: Arrays,
    *,
    avoid: Collection[str] = (),
    for_integers: bool = False,
) -> PlainModel:
    """A function on plain tensors; if the signature has to be cut, as CutSearch says.

    `raw` are a few inputs of the signature: their path through the graph tells shapes that the
    graph itself leaves open.
    """
    wanted = {
        name: tensor
        for name, tensor in zip(signature.signature.outputs, signature.frozen.outputs, strict=True)
        if tensor.dtype != tf.string
    }
    if not wanted:
        raise _refuse(signature, "gives words only")
    front: _NoFront | _Front
    if signature.is_plain:
        front = _NoFront(signature)
    else:
        search = CutSearch(
            signature.frozen.graph,
            signature.arguments,
            wanted.values(),
            avoid=avoid,
            for_integers=for_integers,
        )
        cut = search.find()
        _check_worth(signature, cut, wanted.values())
        front = _Front(signature, cut, raw)
    graph = _graph_behind(front.cut, wanted.values(), for_integers=for_integers)
    return PlainModel(
        signature=signature,
        function=_function_behind(graph, front, wanted),
        inputs=front.inputs,
        outputs=list(wanted),
        left_out=sorted(set(signature.signature.outputs) - set(wanted)),
        prepare=front,
        is_cut=not signature.is_plain,
    )


class _NoFront:
    """A cut that leaves everything behind it; inputs get names that every format can hold."""

    def __init__(self, signature: FlatSignature) -> None:
        self.cut = Cut(
            borders=[
                Border(tensor=tensor, features=frozenset([name]), passed=())
                for name, tensor in signature.arguments.items()
            ]
        )
        self.constants: list[Any] = []
        self._names = dict(zip(signature.arguments, _names(self.cut.borders), strict=True))
        self.inputs = [
            Input(
                name=self._names[name],
                dtype=tensor.dtype.name,
                shape=_sizes(tensor.shape),
                meaning="as saved",
            )
            for name, tensor in signature.arguments.items()
        ]

    def __call__(self, raw: Arrays) -> Arrays:
        """The inputs of the signature by their new names."""
        return {new: raw[old] for old, new in self._names.items()}


class _Front:
    """The part of the graph before the cut."""

    def __init__(self, signature: FlatSignature, cut: Cut, raw: Arrays) -> None:
        self.cut = cut
        self._arguments = signature.arguments
        self._dtypes = {name: info.dtype for name, info in signature.signature.inputs.items()}
        self._tables = list(signature.tables.values())
        self._function = self._prune(signature)
        self._names = _names(cut.borders)
        self.constants = self._run(raw)[len(self._names) :]
        """The tensors that no example changes."""
        every, first = self(raw), self({name: array[:1] for name, array in raw.items()})
        self.inputs = [
            Input(
                name=name,
                dtype=border.tensor.dtype.name,
                shape=_shape(signature, border, every[name].shape, first[name].shape),
                meaning=_meaning(border),
            )
            for name, border in zip(self._names, cut.borders, strict=True)
        ]

    def __call__(self, raw: Arrays) -> Arrays:
        """The inputs of the part behind the cut, by name."""
        return dict(zip(self._names, self._run(raw), strict=False))

    def _prune(self, signature: FlatSignature) -> Any:
        graph = signature.frozen.graph.as_graph_def()
        wrapped = tf.compat.v1.wrap_function(
            lambda: tf.graph_util.import_graph_def(graph, name=""), []
        )
        at = wrapped.graph.as_graph_element
        fed = [*(one.name for one in self._arguments.values()), *signature.tables]
        fetched = [*(one.tensor.name for one in self.cut.borders)]
        fetched += [one.name for one in self.cut.constants]
        return wrapped.prune([at(name) for name in fed], [at(name) for name in fetched])

    def _run(self, raw: Arrays) -> list[Any]:
        tensors = [tf.constant(raw[name], self._dtypes[name]) for name in self._arguments]
        return [tensor.numpy() for tensor in self._function(*tensors, *self._tables)]


def _function_behind(graph: Any, front: _NoFront | _Front, wanted: dict[str, Any]) -> Any:
    """The part of the graph behind the cut, imported into a function with the inputs' shapes."""
    specs = [tf.TensorSpec(_open_shape(one), one.dtype, name=one.name) for one in front.inputs]
    at_cut = [border.tensor.name for border in front.cut.borders]
    fixed = zip((one.name for one in front.cut.constants), front.constants, strict=True)

    @tf.function(input_signature=specs)  # type: ignore[untyped-decorator, unused-ignore]
    def function(*tensors: Any) -> Any:
        fed = dict(zip(at_cut, tensors, strict=True))
        fed |= {name: tf.constant(value) for name, value in fixed}
        inner = [tensor.name for tensor in wanted.values() if tensor.name not in fed]
        used = {name for node in graph.node for name in map(_with_index, node.input)}
        found = tf.graph_util.import_graph_def(
            graph,
            input_map={name: tensor for name, tensor in fed.items() if name in used},
            return_elements=inner,
            name="",
        )
        given = dict(zip(inner, found, strict=True)) | fed
        return {name: tf.identity(given[tensor.name]) for name, tensor in wanted.items()}

    return function.get_concrete_function()


def _graph_behind(cut: Cut, outputs: Collection[Any], *, for_integers: bool) -> Any:
    """The nodes between the cut and the outputs."""
    fed = {one.tensor.name for one in cut.borders} | {one.name for one in cut.constants}
    waiting = list({tensor.op for tensor in outputs if tensor.name not in fed})
    seen = set(waiting)
    graph = tf.compat.v1.GraphDef()
    graph.library.CopyFrom(waiting[0].graph.as_graph_def().library)
    while waiting:
        op = waiting.pop()
        node = op.node_def
        kept = [name for name in node.input if not name.startswith("^")]
        del node.input[:]
        node.input.extend(kept)
        graph.node.append(node)
        before = {tensor.op for tensor in op.inputs if tensor.name not in fed} - seen
        seen |= before
        waiting.extend(before)
    if for_integers:
        spell_out_one_hot(graph)
    return graph


def _with_index(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _names(borders: Sequence[Border]) -> list[str]:
    """A name for each input: that of its feature, with a number where there are several."""
    names: list[str] = []
    for border in borders:
        name = wanted = re.sub(r"\W", "_", "_".join(sorted(border.features))[:60])
        number = 1
        while name in names:
            number += 1
            name = f"{wanted}_{number}"
        names.append(name)
    return names


def _meaning(border: Border) -> str:
    what = " and ".join(f"the feature {name!r}" for name in sorted(border.features))
    if border.scaled:
        return f"{what}, scaled as the model does it"
    if not border.passed:
        return what
    if border.default is not None and border.passed == ("SparseToDense",):
        return f"{what}; {border.default!r} where it is missing"
    return f"what the model makes of {what} with {', '.join(border.passed)}"


def _shape(
    signature: FlatSignature, border: Border, every: Sequence[int], first: Sequence[int]
) -> list[int]:
    """The shape for any number of examples."""
    if not every or first[0] != 1:
        raise _refuse(
            signature,
            f"uses {' and '.join(sorted(border.features))} through {', '.join(border.passed)}, "
            "which gives not one row for each example",
        )
    static = _sizes(border.tensor.shape) or [-1] * len(every)
    known = zip(static[1:], every[1:], first[1:], strict=True)
    return [-1, *(size if size != -1 else (one if one == two else -1) for size, one, two in known)]


def _open_shape(one: Input) -> list[int | None] | None:
    return None if one.shape is None else [None if size == -1 else size for size in one.shape]


def _sizes(shape: tf.TensorShape) -> list[int] | None:
    return None if shape.rank is None else [-1 if size is None else size for size in shape]


def _check_worth(signature: FlatSignature, cut: Cut, wanted: Collection[Any]) -> None:
    at_cut = {border.tensor.name for border in cut.borders}
    if not at_cut or all(before_identities(tensor).name in at_cut for tensor in wanted):
        last = sorted({name for border in cut.borders for name in border.passed})
        raise _refuse(
            signature, f"has nothing left behind {', '.join(last) or 'its constants'} to convert"
        )


def _refuse(signature: FlatSignature, why: str) -> RewriteFailed:
    return RewriteFailed(
        f"No signature on plain tensors follows from {signature.key!r} of {signature.path}: it "
        f"{why}. Save a second one that takes them, and name it: signature_key= or --signature."
    )
