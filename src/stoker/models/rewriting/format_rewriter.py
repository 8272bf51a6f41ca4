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
from typing import Any, ClassVar

from stoker.models.rewriting.conversion import Conversion, NotRun, Runtime, convert, prove
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
        signature_key: str | None,
        examples: Sequence[str] | None,
        tolerance: float | None,
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
        self._conversion = convert(lambda avoid: self._attempt(source, target, avoid))

    def _post_rewrite_validate(self, rewritten_model: ModelDescription) -> None:
        if not isinstance(self._conversion, Conversion):  # a test has put something in its place
            return
        folder = os.fsdecode(rewritten_model.path)
        self.report = prove(
            self._conversion,
            self._find_runtime(folder, self._conversion),
            folder,
            format_name=self.FORMAT,
            precision=self.precision,
            converter=self.converter,
            tolerance=self._tolerance,
        )
