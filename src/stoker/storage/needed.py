# SPDX-License-Identifier: Apache-2.0
"""Which files of examples a step needs where it runs: of some splits, as records or as columns."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from stoker.storage.digests import FileEntry

Form = Literal["records", "columns", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What a step reads of its examples; all of them, unless it is known to read less."""

    splits: Sequence[str] | None = None
    """Those that it reads; None for all."""
    form: Form = "both"
    """Columns may be missing anywhere: who asks for them alone gets records where there are none.

    Who asks for records may be given columns as well, and has to do without them.
    """

    def choose(self, files: Sequence[FileEntry], caches: Sequence[FileEntry]) -> list[FileEntry]:
        """The needed ones of an artifact's files, and of the columns beside them."""
        columns = {entry.path for entry in caches}
        without = (entry.path for entry in files if _columns_of(entry.path) not in columns)
        lacking = {path.partition("/")[0] for path in without}
        return [
            *(entry for entry in files if self._has(entry.path, lacking)),
            *(entry for entry in caches if self.form != "records" and self._is_asked(entry.path)),
        ]

    def name_tree(self, digest: str) -> str:
        """A digest for the files: where columns are alone, no other step may put records."""
        if self.form != "columns":
            return digest
        return hashlib.sha256(f"columns of {digest}".encode()).hexdigest()

    def to_record(self) -> dict[str, Any]:
        """As plain JSON; its items are the arguments that make it again."""
        return asdict(self)

    def _has(self, path: str, lacking: set[str]) -> bool:
        """Whether a file is needed, knowing the folders of which not all files have columns."""
        folder = path.partition("/")[0]
        is_told_by_columns = self.form == "columns" and folder not in lacking
        return self._is_asked(path) and not (is_told_by_columns and folder.startswith("Split-"))

    def _is_asked(self, path: str) -> bool:
        folders = path.split("/")[:-1]
        named = [one.removeprefix("Split-") for one in folders if one.startswith("Split-")]
        return self.splits is None or not named or named[0] in self.splits


def _columns_of(path: str) -> str:
    """Where the columns of a shard are, below its artifact."""
    folder, name = os.path.split(path)
    return f"columns/{folder}/{name.removesuffix('.gz')}.arrow"
