# SPDX-License-Identifier: Apache-2.0
"""What mkdocs.yml adds to the pages of docs/: the reference, made from docstrings.

A page loses the comments that are for tests, and its links to files that are no pages: the sources
have no address that a site could link to.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_OUTWARD = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the reference."""
    files.append(File.generated(config, "reference.md", content=write_reference()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """What of a page is for its readers."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def name_only(link: re.Match[str]) -> str:
        if (target := (folder / link[2]).resolve()).is_relative_to(ROOT / "docs"):
            return link[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_uri} links to {link[2]}, which is not there")
        return link[1]

    return _OUTWARD.sub(name_only, _COMMENT.sub("", markdown))


def write_reference() -> str:
    """A page of all names that `stoker` promises, from their docstrings."""
    import stoker

    names = [name for name in stoker.__all__ if name not in ("__version__", "artifacts")]
    return "\n".join(
        [
            "# The names of stoker",
            "",
            "All can be imported from `stoker`; `tfx` re-exports most of them under TFX's paths.",
            *(_describe(name, getattr(stoker, name)) for name in names),
        ]
    )


def _describe(name: str, thing: Any) -> str:
    try:
        signature = re.sub(r"stoker\.[\w.]*\.|typing\.", "", str(inspect.signature(thing)))
    except (TypeError, ValueError):  # a message, an error, or a word for annotations
        signature = ""
    lines = [f"\n## {name}\n", f"```python\n{_fold(name + signature)}\n```\n"]
    if hasattr(thing, "DESCRIPTOR"):
        lines.append("A message of TFX.\n")
    else:
        lines.append(inspect.getdoc(thing) or "")
        lines.extend(_describe_methods(thing) if inspect.isclass(thing) else ())
    return "\n".join(lines)


def _describe_methods(cls: type) -> Iterator[str]:
    for name, method in vars(cls).items():
        said = (inspect.isfunction(method) and inspect.getdoc(method)) or ""
        if name == "__init__":
            yield _list_arguments(said)
        elif said and not name.startswith("_"):
            yield f"\n**`.{name}()`** {said}\n"


def _fold(signature: str) -> str:
    """One argument a line, where all do not fit into one."""
    if len(signature) <= 90:
        return signature
    return re.sub(r", (?=\*?\*?\w+(?::|=|,|\)))", ",\n    ", signature.replace("(", "(\n    ", 1))


def _list_arguments(docstring: str) -> str:
    _, _, arguments = docstring.partition("\nArgs:\n")
    items = re.sub(r"^    (\w+): ", r"- `\1`: ", arguments, flags=re.MULTILINE)
    return "\n" + re.sub(r"^ +(?=\S)", "  ", items, flags=re.MULTILINE) + "\n"
