# SPDX-License-Identifier: Apache-2.0
"""What is known about a rewritten model: the file `rewriting.json` beside it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

REPORT_FILE = "rewriting.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One rewritten model beside its original."""

    format: str
    precision: str
    signature: str
    inputs: dict[str, dict[str, Any]]
    """Name to type, shape and meaning."""
    outputs: list[str]
    left_out: list[str]
    """Outputs of the original that are words, which it does not give."""
    cut: bool
    """Whether it takes other inputs than the original's signature."""
    converter: str
    tolerance: float
    compared_on: str
    original_bytes: int
    rewritten_bytes: int
    original_ms: float
    """The time for one example, at the median."""
    rewritten_ms: float | None = None
    runtime: str = ""
    """What it was loaded and run with; empty if there was nothing to run it with."""
    largest_difference: float | None = None
    """In the worst output, as a part of its largest value; None if it could not be run."""
    worst_output: str | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """This report as plain JSON."""
        return asdict(self)

    def summary(self) -> str:
        """What was found out, in a sentence."""
        sizes = f"{self.rewritten_bytes:,} bytes instead of {self.original_bytes:,}"
        if self.largest_difference is None:
            return f"{sizes}. {self.note}"
        return (
            f"{sizes}, differs by {self.largest_difference:.2g} at most ({self.tolerance:g} is "
            f"allowed) on {self.compared_on}, in {self.runtime}"
        )

    def write(self, folder: str) -> None:
        """Put it beside the model."""
        Path(folder, REPORT_FILE).write_text(json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def read(cls, folder: str) -> Self:
        """The report that `write` has put there."""
        return cls(**json.loads(Path(folder, REPORT_FILE).read_text()))
