# SPDX-License-Identifier: Apache-2.0
"""What of a run is sent to MLflow, in its terms: names, parameters, what is left to the user."""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NOT_IN_KEYS = re.compile(r"[^\w\-. :/]")
_MOST_OF_KEY = 250
_COMMENT = re.compile(r"#.*")
_IMPORT = re.compile(r"^\s*(?:import|from)\s+mlflow\b", re.MULTILINE)
_OWN_METRICS = re.compile(r"\bautolog\(|\blog_metrics?\(|\bM[Ll]flowCallback\(")
_OWN_MODEL = re.compile(r"\bautolog\((?![^)]*log_models\s*=\s*False)|\blog_model\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLogging:
    """What the user's module sends to MLflow itself: that is not sent twice."""

    metrics: bool = False
    model: bool = False

    @classmethod
    def of(cls, files: Sequence[str]) -> "OwnLogging":
        """As the text of a module and its neighbours tells."""
        texts = [Path(one).read_text(errors="replace") for one in files if os.path.isfile(one)]
        whole = _COMMENT.sub("", "\n".join(texts))
        if not _IMPORT.search(whole):
            return cls()
        return cls(metrics=bool(_OWN_METRICS.search(whole)), model=bool(_OWN_MODEL.search(whole)))

    def __str__(self) -> str:
        return ", ".join(name for name in ("metrics", "model") if getattr(self, name))


def flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Parameters with their values as text; what is in JSON has a name of its own."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(f"{name}.{key}", inner)
    elif value not in (None, "null"):
        yield name, value if isinstance(value, str) else json.dumps(value)


def clean_key(key: str) -> str:
    """A name as MLflow takes it: also as a path, in which nothing may be empty."""
    parts = _NOT_IN_KEYS.sub("_", key).split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))[:_MOST_OF_KEY]
