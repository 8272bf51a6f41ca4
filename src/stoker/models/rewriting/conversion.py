# SPDX-License-Identifier: Apache-2.0
"""What a conversion takes and gives: a model that is ready for it, and what runs the result."""

import abc
import contextlib
import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from stoker.any_python.streams import flush_streams, open_missing_streams
from stoker.errors import RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.rewriting.comparison import (
    milliseconds,
)
from stoker.models.rewriting.plain import PlainModel, make_plain
from stoker.models.rewriting.sample import Sample, draw, draw_if_fitting
from stoker.models.rewriting.signature import load_signature
from stoker.training.session import find_eval_files


class Runtime(abc.ABC):
    """A rewritten model, loaded by what will run it."""

    name: str
    """The runtime's name and version."""

    @abc.abstractmethod
    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, output by output."""

    def milliseconds(self, arrays: Arrays) -> float:
        """How long it takes for one call, at the median."""
        return milliseconds(lambda: self.answer(arrays))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """There is no runtime here; `why` says what is missing."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What was converted, and what it and the result are called with."""

    plain: PlainModel
    sample: Sample

    def rows(self, start: int, stop: int) -> Arrays:
        """Some of the sample as inputs of the rewritten model."""
        arrays = {name: array[start:stop] for name, array in self.sample.arrays.items()}
        return self.plain.prepare(arrays)


class UnsupportedOps(RewriteFailed):
    """A format has no such ops."""

    def __init__(self, format_name: str, ops: Collection[str], conversion: Conversion) -> None:
        super().__init__(
            f"{format_name} has no {', '.join(sorted(ops))}, which the signature "
            f"{conversion.plain.signature.key!r} needs. Write the model without "
            f"{'it' if len(ops) == 1 else 'them'}, or save it with a second signature that begins "
            "behind, and rewrite that one."
        )
        self.ops = frozenset(ops)
        self.can_be_cut_off = conversion.plain.is_cut


def prepare(
    path: str,
    *,
    signature_key: str | None = None,
    examples: Sequence[str] | None = None,
    avoid: Collection[str] = (),
    for_integers: bool = False,
) -> Conversion:
    """Make a signature of the SavedModel in `path` ready to be converted.

    `examples` are files to compare on; None means those of the run that this happens in, if they
    fit. If the signature has to be cut, it is cut as CutSearch says.
    """
    signature = load_signature(path, signature_key)
    if examples is None:
        sample = draw_if_fitting(signature, find_eval_files())
    else:
        sample = draw(signature, examples)
    plain = make_plain(signature, sample.arrays, avoid=avoid, for_integers=for_integers)
    return Conversion(plain=plain, sample=sample)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what a converter writes from the user: what matters of it is in what it raises.

    Its parts that are not Python write to the descriptors themselves.
    """
    open_missing_streams()
    flush_streams()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        with open(os.devnull, "wb") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, _ in kept:
                os.dup2(nowhere.fileno(), number)
            yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
