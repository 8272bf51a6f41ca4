# SPDX-License-Identifier: Apache-2.0
"""What the rewriters have in common: cut, convert, cut again; then compare the result."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from stoker.errors import RewriteFailed
from stoker.rewriting import offered_examples
from stoker.rewriting.comparison import TOLERANCES, largest_difference, milliseconds, size_of
from stoker.rewriting.plain import PlainModel, make_plain
from stoker.rewriting.report import Report
from stoker.rewriting.sample import Sample, draw, draw_if_fitting
from stoker.rewriting.signature import Arrays, load_signature

__all__ = ["Conversion", "NotRun", "Runtime", "UnsupportedOps", "convert", "prepare", "prove"]


class Runtime(Protocol):
    """A rewritten model, loaded by what will run it."""

    name: str
    """The runtime's name and version."""

    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, output by output."""

    def milliseconds(self, arrays: Arrays) -> float:
        """How long it takes for one call, at the median."""


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
) -> Conversion:
    """Make a signature of the SavedModel in `path` ready to be converted.

    `examples` are files to compare on; None means those of the run that this happens in, if they
    fit. Ops of the kinds in `avoid` are cut off, if the signature has to be cut at all.
    """
    signature = load_signature(path, signature_key)
    if examples is None:
        sample = draw_if_fitting(signature, offered_examples())
    else:
        sample = draw(signature, examples)
    plain = make_plain(signature, sample.arrays, avoid)
    return Conversion(plain=plain, sample=sample)


def convert(attempt: Callable[[frozenset[str]], Conversion]) -> Conversion:
    """Attempt a conversion; if it fails for ops that can be cut off, attempt it without them."""
    avoid: frozenset[str] = frozenset()
    while True:
        try:
            return attempt(avoid)
        except UnsupportedOps as unsupported:
            if not unsupported.can_be_cut_off or unsupported.ops <= avoid:
                raise
            avoid |= unsupported.ops


def prove(
    conversion: Conversion,
    runtime: Runtime | NotRun,
    folder: str,
    *,
    format_name: str,
    precision: str,
    converter: str,
    tolerance: float | None = None,
) -> Report:
    """Call the rewritten model beside the original, and write down what comes out."""
    plain, sample = conversion.plain, conversion.sample
    allowed = TOLERANCES[precision] if tolerance is None else tolerance
    first = {name: array[:1] for name, array in sample.arrays.items()}
    difference = None
    if not isinstance(runtime, NotRun):
        answers = plain.signature(sample.arrays)
        expected = {name: answers[name] for name in plain.outputs}
        difference = largest_difference(
            expected, runtime.answer(conversion.rows(0, len(sample)))
        )
        if not difference.value <= allowed:
            raise RewriteFailed(
                f"In {runtime.name} its output {difference.output!r} differs from the original's by "
                f"{difference.value:.3g} of its range, on {sample.source}; {precision} may differ "
                f"by {allowed:g}. Choose a finer precision, or allow more: tolerance=…"
            )
    report = Report(
        format=format_name,
        precision=precision,
        signature=plain.signature.key,
        inputs={
            one.name: {"dtype": one.dtype, "shape": one.shape, "meaning": one.meaning}
            for one in plain.inputs
        },
        outputs=plain.outputs,
        left_out=plain.left_out,
        cut=plain.is_cut,
        converter=converter,
        runtime="" if isinstance(runtime, NotRun) else runtime.name,
        compared_on=sample.source,
        largest_difference=difference and difference.value,
        worst_output=difference and difference.output,
        tolerance=allowed,
        original_bytes=size_of(plain.signature.path),
        rewritten_bytes=size_of(folder),
        original_ms=milliseconds(lambda: plain.signature(first)),
        rewritten_ms=None
        if isinstance(runtime, NotRun)
        else runtime.milliseconds(conversion.rows(0, 1)),
        note=f"It was not run: {runtime.why}" if isinstance(runtime, NotRun) else "",
    )
    report.write(folder)
    return report
