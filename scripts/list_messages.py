# SPDX-License-Identifier: Apache-2.0
"""Lists every sentence that a user may read: errors, lines of a run, warnings, help.

    python scripts/list_messages.py            file:line  kind  sentence
    python scripts/list_messages.py runner/    only of files whose path has this in it

What is put together in several places is listed in pieces; scripts/list_refusals.py has errors
whole.
"""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
SAYERS = {
    *("say", "step", "warn", "print_line", "_report", "_warn_once", "fail", "failure", "skip"),
    *(
        "UsageError",
        "Miss",
        "Hit",
        "Failure",
        "Patch",
        "Finding",
        "Diagnosis",
        "Remark",
        "Anomaly",
        "Absent",
        "option",
        "argument",
    ),
}
"""Functions and classes whose text is shown."""


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", default="", help="a part of the paths to list")
    part = parser.parse_args().part
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if part in name and not name.endswith("_pb2.py"):
            for line, kind, text in list_messages(ast.parse(path.read_text())):
                print(f"{name}:{line}  {kind}  {text}")


def list_messages(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line, the kind and the text of each sentence, in the order of the file."""
    found: dict[int, tuple[int, str, str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Call(func=function) as call):
                kind = f"raise {_name(function)}"
            case ast.Call(func=function) as call if _name(function) in SAYERS:
                kind = _name(function)
            case ast.Return(value=ast.JoinedStr() | ast.Constant(value=str()) as call):
                kind = "return"
            case _:
                continue
        for text in _list_texts(call):
            found.setdefault(text.lineno * 1000 + text.col_offset, (text.lineno, kind, _show(text)))
    for _, message in sorted(found.items()):
        if " " in message[2].strip():
            yield message


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _list_texts(node: ast.AST) -> Iterator[ast.JoinedStr | ast.Constant]:
    """The texts in an expression; those inside of a text are a part of it."""
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            yield node  # type: ignore[misc]
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _list_texts(child)


def _show(text: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(text, ast.Constant):
        return " ".join(str(text.value).split())
    parts = (
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
        for part in text.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )
    return " ".join("".join(parts).split())


if __name__ == "__main__":
    main()
