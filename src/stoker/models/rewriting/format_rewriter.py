# SPDX-License-Identifier: Apache-2.0
"""What the rewriters of all formats share: they take a SavedModel, convert it, and compare.

To add a rewriter:

1. Write `<format>_rewriter.py` here: a FormatRewriter with a converter and a runtime.
2. Add the format to ModelType in rewriter.py.
3. Add what can be asked for, with its folder and options, to TARGETS in targets.py.
4. If it needs packages that are not installed with Stoker, make an extra of them in pyproject.toml.
"""

import abc
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from stoker.errors import RewriteFailed
from stoker.models.rewriting.comparison import (
    TOLERANCES,
    Difference,
    largest_difference,
    milliseconds,
    size_of,
)
from stoker.models.rewriting.conversion import Conversion, NotRun, Runtime, UnsupportedOps
from stoker.models.rewriting.report import Report
from stoker.models.rewriting.rewriter import BaseRewriter, ModelDescription, ModelType


class FormatRewriter(BaseRewriter):
    """Converts one signature of a SavedModel.

    `examples` are files to compare on; None means those of the run that it happens in, if they
    fit. `tolerance` is how much the result may differ; None leaves it to the precision.
    """

    FORMAT: ClassVar[str]
    """The name of the format, as reports have it."""
    MODEL_TYPE: ClassVar[ModelType]

    def __init__(
        self,
        name: str,
        signature_key: str | None = None,
        *,
        examples: Sequence[str] | None = None,
        tolerance: float | None = None,
    ) -> None:
        self._name = name
        self._given = {"signature_key": signature_key, "examples": examples}
        self._tolerance = tolerance
        self._conversion: Conversion | None = None
        self.report: Report | None = None
        """What was found out about the last model that was rewritten."""

    @property
    def name(self) -> str:  # noqa: D102
        return self._name

    @property
    def precision(self) -> str:
        """What numbers are kept as, which decides how much they may differ."""
        return "float32"

    @property
    @abc.abstractmethod
    def converter(self) -> str:
        """The name and the version of what converts."""

    @abc.abstractmethod
    def _attempt(self, source: str, target: str, avoid: frozenset[str]) -> Conversion:
        """Convert the SavedModel in `source` into `target`, without ops of the kinds in `avoid`."""

    @abc.abstractmethod
    def _find_runtime(self, folder: str, conversion: Conversion) -> Runtime | NotRun:
        """What runs the result in a folder."""

    def _arguments(self, **more: Any) -> dict[str, Any]:
        """What `prepare` is to be called with, as far as it is given."""
        return {name: value for name, value in (self._given | more).items() if value}

    def _pre_rewrite_validate(self, original_model: ModelDescription) -> None:
        if original_model.model_type is not ModelType.SAVED_MODEL:
            raise ValueError(f"it takes SavedModels, not {original_model.model_type}.")

    def _rewrite(self, original_model: ModelDescription, rewritten_model: ModelDescription) -> None:
        if rewritten_model.model_type not in (self.MODEL_TYPE, ModelType.ANY_MODEL):
            raise ValueError(
                f"it writes {self.FORMAT}, not {rewritten_model.model_type}. Ask for "
                f"{self.MODEL_TYPE.name}."
            )
        source, target = os.fsdecode(original_model.path), os.fsdecode(rewritten_model.path)
        os.makedirs(target, exist_ok=True)
        self._conversion = self._repeat_attempts(source, target)

    def _repeat_attempts(self, source: str, target: str) -> Conversion:
        """Attempt it; if it fails for ops that can be cut off, attempt it without them."""
        avoid: frozenset[str] = frozenset()
        while True:
            try:
                return self._attempt(source, target, avoid)
            except UnsupportedOps as unsupported:
                if not unsupported.can_be_cut_off or unsupported.ops <= avoid:
                    raise
                avoid |= unsupported.ops

    def _post_rewrite_validate(self, rewritten_model: ModelDescription) -> None:
        if not isinstance(self._conversion, Conversion):  # a test has put something in its place
            return
        folder = os.fsdecode(rewritten_model.path)
        self.report = self._compare(self._conversion, folder)
        self.report.write(folder)

    def _compare(self, conversion: Conversion, folder: str) -> Report:
        """Call the rewritten model beside the original, and write down what comes out."""
        runtime = self._find_runtime(folder, conversion)
        plain, sample = conversion.plain, conversion.sample
        first = {name: array[:1] for name, array in sample.arrays.items()}
        report = Report(
            format=self.FORMAT,
            precision=self.precision,
            signature=plain.signature.key,
            inputs={one.name: one.to_dict() for one in plain.inputs},
            outputs=plain.outputs,
            left_out=plain.left_out,
            cut=plain.is_cut,
            converter=self.converter,
            tolerance=TOLERANCES[self.precision] if self._tolerance is None else self._tolerance,
            compared_on=sample.source,
            original_bytes=size_of(plain.signature.path),
            rewritten_bytes=size_of(folder),
            original_ms=milliseconds(lambda: plain.signature(first)),
        )
        if isinstance(runtime, NotRun):
            return replace(report, note=f"It was not run: {runtime.why}")
        difference = _difference(conversion, runtime, report.tolerance)
        return replace(
            report,
            runtime=runtime.name,
            largest_difference=difference.value,
            worst_output=difference.output,
            rewritten_ms=runtime.milliseconds(conversion.rows(0, 1)),
        )


def _difference(conversion: Conversion, runtime: Runtime, allowed: float) -> Difference:
    """How far the rewritten model is from the original; RewriteFailed if that is too far."""
    plain, sample = conversion.plain, conversion.sample
    answers = plain.signature(sample.arrays)
    expected = {name: answers[name] for name in plain.outputs}
    difference = largest_difference(expected, runtime.answer(conversion.rows(0, len(sample))))
    if not difference.value <= allowed:
        raise RewriteFailed(
            f"In {runtime.name} its output {difference.output!r} differs from the original's by "
            f"{difference.value:.3g} of the largest value, on {sample.source}; {allowed:g} is "
            "allowed. Choose a finer precision, or allow more: tolerance=…"
        )
    return difference
