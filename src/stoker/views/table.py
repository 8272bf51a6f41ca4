# SPDX-License-Identifier: Apache-2.0
"""The form of what is shown as text: every command prints these."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under their columns' names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def to_record(self) -> dict[str, Any]:
        """This table as JSON."""
        return asdict(self)
