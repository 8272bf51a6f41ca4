# SPDX-License-Identifier: Apache-2.0
"""The files by which one step's code tells another what no channel does.

TFX runs steps one after the other, so that a `tuner_fn` may leave what a `run_fn` reads, at a place
that both name. Steps that do so keep their order here, too.
"""

import ast
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from stoker.user_code.known_texts import KnownTexts, get_name

_OPENERS = frozenset({"GFile", "Open", "open"})
_SAVERS = frozenset(
    {
        *("dump", "imsave", "save", "savefig", "savez", "savetxt", "to_csv", "to_excel", "to_json"),
        *("to_parquet", "to_pickle"),
    }
)
_WRITERS = frozenset({"write_bytes", "write_text"})
"""Methods of the path itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOfCode:
    """The names of the files that the code of a step writes, or only has in its text."""

    written: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def meets(self, other: "FilesOfCode") -> bool:
        """Whether one of them may write what the other one reads or writes."""
        return not (self.written.isdisjoint(other.named) and self.named.isdisjoint(other.written))


def find_files_of_code(trees: Collection[ast.Module], functions: Collection[str]) -> FilesOfCode:
    """What `functions` and all that they use write at places that the text says, and what it names.

    Classes count as functions do, and all of the text where it has none of these.
    """
    paths = _Paths(trees)
    nodes = list(chain.from_iterable(map(ast.walk, _list_used(trees, functions) or trees)))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    return FilesOfCode(
        written=frozenset(filter(_is_file, map(_name, _list_written(nodes, paths)))),
        named=frozenset(filter(_is_file, map(_name, (one for one in texts if type(one) is str)))),
    )


def _list_used(
    trees: Collection[ast.Module], functions: Collection[str]
) -> list[ast.FunctionDef | ast.ClassDef | ast.Assign]:
    """The definitions in modules, and their constants, that some of their functions come to."""
    known: dict[str, list[ast.FunctionDef | ast.ClassDef | ast.Assign]] = {}
    for one in chain.from_iterable(tree.body for tree in trees):
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            known.setdefault(one.name, []).append(one)
        elif isinstance(one, ast.Assign):
            for target in one.targets:
                if isinstance(target, ast.Name):
                    known.setdefault(target.id, []).append(one)
    used = []
    waiting = [name for name in functions if name in known]
    while waiting:
        for one in known.pop(waiting.pop(), ()):
            used.append(one)
            names = (getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(one))
            waiting += [name for name in names if name in known]
    return used


class _Paths(KnownTexts):
    """The paths that modules name, as if all were one file; where it lies does not matter."""

    def __init__(self, trees: Collection[ast.Module]) -> None:
        whole = ast.Module([line for tree in trees for line in tree.body], type_ignores=[])
        super().__init__(whole, "/module.py")

    def _find(self, node: ast.expr, depth: int) -> str | None:
        match node:
            case ast.Attribute(attr=name) if name.isupper():  # of a module with constants
                return super()._find(ast.Name(name), depth + 1)
        return super()._find(node, depth)


def _list_written(nodes: list[ast.AST], paths: _Paths) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call):
            for target in _list_targets(node):
                if path := paths.find(target):
                    yield path


def _list_targets(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that may be the file that it writes."""
    name = get_name(call.func)
    if name in _OPENERS:
        modes = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "mode")]
        texts = [str(one.value) for one in modes if isinstance(one, ast.Constant)]
        return call.args[:1] if set("wax+").intersection("".join(texts)) else []
    if name in _WRITERS and isinstance(call.func, ast.Attribute):
        return [call.func.value]
    return call.args if name in _SAVERS else []


def _name(path: str) -> str:
    return os.path.basename(path.replace("\\", "/"))


def _is_file(name: str) -> bool:
    stem, mark, kind = name.rpartition(".")
    return bool(stem and mark) and kind.isidentifier() and len(name) < 200
