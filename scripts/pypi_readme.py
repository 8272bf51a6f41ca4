# SPDX-License-Identifier: Apache-2.0
"""The README as the package index shows it: what links to files of the repository is text there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]+\)")


class CustomMetadataHook(MetadataHookInterface):
    """Hatchling calls it when it builds a wheel or an editable install."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(r"\1", _COMMENT.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
