# SPDX-License-Identifier: Apache-2.0
"""What notebooks of TFX's time call, and pandas 2 has not: they were written for pandas 1."""

import ast

from stoker.patches.registry import PATCHES

_OF_APPEND = frozenset({"ignore_index", "verify_integrity"})
_OF_READING = {
    "error_bad_lines": "on_bad_lines='skip'",
    "warn_bad_lines": "on_bad_lines='warn'",
    "squeeze": ".squeeze('columns') after it",
    "mangle_dupe_cols": "nothing, for it is always so",
}


def is_append(call: ast.Call) -> bool:
    """Whether a call is of DataFrame.append, and not of a list's."""
    keywords = {keyword.arg for keyword in call.keywords}
    return getattr(call.func, "attr", "") == "append" and bool(keywords & _OF_APPEND)


def find_older_call(call: ast.Call) -> str:
    """What to write instead of a call; nothing for one that works, or of others."""
    name = getattr(call.func, "attr", "")
    keywords = {keyword.arg for keyword in call.keywords if keyword.arg}
    if is_append(call) and not gives_back_append():
        return "DataFrame.append is of pandas 1: write pd.concat([frame, more], ignore_index=True)."
    if name.startswith("read_"):
        for keyword in sorted(keywords & _OF_READING.keys()):
            return f"{name}({keyword}=…) is of pandas 1: write {_OF_READING[keyword]}."
    return ""


def gives_back_append() -> bool:
    """Whether the installed pandas has `append` after an import of tfx or a library of its."""
    patch = PATCHES["pandas-methods"]
    return patch.fits(patch.installed_version() or patch.tried)
