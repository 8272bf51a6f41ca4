# SPDX-License-Identifier: Apache-2.0
"""The files that are checked: those that were named, and what they import, name or write."""

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from stoker.cli.checking.notebooks import Notebook, WrittenFile, read_notebook
from stoker.user_code.imports import scan
from stoker.user_code.known_texts import KnownTexts

_NOT_OURS = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
_PYTHON, _NOTEBOOK = ".py", ".ipynb"
_CELLS = "__cells__.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of Python, or the cells of a notebook as one."""

    path: str
    """Where its text is, which is a scratch file for what is in a notebook."""
    shown: str
    """What the reader calls it."""
    notebook: Notebook | None = None
    import_paths: tuple[str, ...] = ()
    reaches: tuple[str, ...] = ()
    """The files that it imports or names."""
    is_reached: bool = False
    """Whether another one imports or names it."""
    beside: tuple[str, ...] = ()
    """The files that it reaches, or that a program does which reaches it."""

    def locate(self, line: int) -> tuple[int | None, int]:
        """The cell that a line is in, and its number there."""
        if self.notebook and line <= len(self.notebook.cells):
            return self.notebook.cells[line - 1]
        return None, line

    @property
    def folders(self) -> list[str]:
        """Where it may find files of the user's."""
        return [os.path.dirname(self.path), *self.import_paths, os.getcwd()]


def collect_sources(target: str, scratch: str) -> list[Source]:
    """The files to check, each once; cells go to files below `scratch`."""
    files = list(_list_files(target)) if os.path.isdir(target) else [target]
    collector = _Collector(scratch)
    if os.path.isdir(target):  # whichever of its folders a program is started from
        collector.import_paths = _list_folders(os.path.abspath(target), files)
    else:  # what it imports finds its own imports where Python lets a program, or -m, look
        collector.import_paths = [os.path.dirname(os.path.abspath(target)), os.getcwd()]
    collector.import_paths += [place for path in files for place in _list_added_places(path)]
    for path in files:
        collector.add(path)
    found = collector.found
    programs = {path: [one for one in found.values() if path in one.reaches] for path in found}
    return [
        replace(
            source, is_reached=bool(programs[path]), beside=_list_reached(source, programs[path])
        )
        for path, source in found.items()
    ]


def _list_reached(source: Source, programs: Sequence[Source]) -> tuple[str, ...]:
    paths = dict.fromkeys(path for one in (source, *programs) for path in one.reaches)
    return tuple(path for path in paths if path != source.path)


def _list_files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _NOT_OURS
            and not name.startswith(".")
            and not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            if name.endswith((_PYTHON, _NOTEBOOK)):
                yield os.path.join(place, name)


def _list_folders(top: str, files: Sequence[str]) -> list[str]:
    """The folder, and those below it that the files are in."""
    found = {top: None}
    for path in map(os.path.abspath, files):
        while (path := os.path.dirname(path)) not in found:
            found[path] = None
    return list(found)


def _list_added_places(path: str) -> Iterator[str]:
    """Where a program or notebook lets Python search too: `sys.path.append(PLACE)`."""
    is_notebook = path.endswith(_NOTEBOOK)
    if is_notebook:
        tree: ast.Module | None = ast.parse(read_notebook(path).text)
    else:
        tree = scan(path).trees.get(os.path.abspath(path))
    if tree is None:
        return
    here = os.path.dirname(path) if is_notebook else os.getcwd()
    paths = KnownTexts(tree, path)
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="path"),
                    attr="append" | "insert",
                ),
                args=[*_, place],
            ) if found := paths.find(place):
                yield os.path.abspath(os.path.join(here, found))


@dataclass
class _Collector:
    scratch: str
    import_paths: list[str] = field(default_factory=list)
    found: dict[str, Source] = field(default_factory=dict)
    """By path."""

    def add(self, path: str) -> None:
        """A file, and what it reaches, unless that was done."""
        path = os.path.abspath(path)
        if path in self.found:
            return
        if path.endswith(_NOTEBOOK):
            self._add_notebook(path)
        else:
            self._add_python(path, os.path.relpath(path), self.import_paths)

    def _add_python(
        self,
        path: str,
        shown: str,
        import_paths: Sequence[str] = (),
        notebook: Notebook | None = None,
    ) -> None:
        imports = scan(path, import_paths)
        tree = imports.trees.get(path)
        folders = [os.path.dirname(path), *import_paths[:1], os.getcwd()]
        named = _list_named_modules(tree, path, folders) if tree else []
        reaches = [one for one in dict.fromkeys([*imports.files, *named]) if one != path]
        self.found[path] = Source(
            path=path,
            shown=shown,
            notebook=notebook,
            import_paths=tuple(import_paths),
            reaches=tuple(reaches),
        )
        for one in reaches:
            self.add(one)

    def _add_notebook(self, path: str) -> None:
        shown, folder = os.path.relpath(path), os.path.dirname(path)
        notebook = read_notebook(path)
        scratch = os.path.join(self.scratch, str(len(self.found)))
        cells = _write(os.path.join(scratch, _CELLS), notebook.text)
        names = KnownTexts(ast.parse(notebook.text), path)
        written = {
            _write(os.path.join(scratch, name), one.text): f"{shown}:{name}"
            for one in notebook.written
            if (name := _find_name(one, names)).endswith(_PYTHON)
        }
        for place, name in written.items():
            self._add_python(place, name, import_paths=[folder, *self.import_paths])
        self._add_python(cells, shown, import_paths=[folder, *self.import_paths], notebook=notebook)


def _write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _find_name(written: WrittenFile, names: KnownTexts) -> str:
    """The name of a written file below the notebook's folder; of another place, only its end."""
    path = written.path.strip("{}$ ")
    if path != written.path and path.isidentifier():
        path = names.find(ast.Name(id=path)) or f"cell_{written.cell}.py"
    path = os.path.normpath(path)
    return os.path.basename(path) if os.path.isabs(path) or path.startswith("..") else path


def _list_named_modules(tree: ast.Module, path: str, folders: Sequence[str]) -> list[str]:
    """The files that a pipeline names, as "modules/model.py" or "modules.model.run_fn"."""
    texts = KnownTexts(tree, path)
    found = (texts.find(node) for node in ast.walk(tree) if isinstance(node, ast.expr))
    names = [name for name in dict.fromkeys(found) if name]
    places = [_find_module(folder, name) for folder in folders for name in names]
    return [place for place in places if place]


def _find_module(folder: str, name: str) -> str | None:
    """The file below a folder that has this path, or a function of this dotted path."""
    if name.endswith(_PYTHON):
        path = os.path.normpath(os.path.join(folder, name))
        return path if os.path.isfile(path) else None
    *modules, function = name.split(".")
    if not modules or not all(map(str.isidentifier, [*modules, function])):
        return None
    path = os.path.normpath(os.path.join(folder, *modules)) + _PYTHON
    tree = scan(path).trees.get(path) if os.path.isfile(path) else None
    functions = [one.name for one in tree.body if isinstance(one, ast.FunctionDef)] if tree else []
    return path if function in functions else None
