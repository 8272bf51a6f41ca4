# SPDX-License-Identifier: Apache-2.0
"""`%load_ext …skip`: cells that begin with %%skip_for_export, as TFX's notebooks have, just run."""

from typing import Any

_MAGIC = "%%skip_for_export"


def load_ipython_extension(shell: Any) -> None:
    """Have the line ignored, so that what is below it runs as any other cell does."""
    shell.input_transformers_cleanup.append(_remove_magic)


def unload_ipython_extension(shell: Any) -> None:
    """Have the line mean nothing again."""
    shell.input_transformers_cleanup.remove(_remove_magic)


def _remove_magic(lines: list[str]) -> list[str]:
    return lines[1:] if lines and lines[0].split() == [_MAGIC] else lines
