# SPDX-License-Identifier: Apache-2.0
"""What a user's module imports, read from its text before any process is started for it.

Nothing is run or imported here, not even the parent package of a module. Of installed packages the
versions are looked up too.
"""

import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from stoker.any_python.modules import is_installed, package_of
from stoker.any_python.own_code import OUR_PACKAGES
from stoker.storage.digests import read_stamp

_STANDARD = sys.stdlib_module_names | {"__main__"}

ImportStatement = ast.Import | ast.ImportFrom
Stamps = Mapping[str, str]
"""What the stat of files and folders says of their last change."""
PIP_NAMES = {
    "PIL": "pillow",
    "absl": "absl-py",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    os.path.join("google", "protobuf"): "protobuf",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""What is not called as the module in it; of others it is looked up, which takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleImports:
    """What a Python file reaches when it is imported."""

    files: tuple[str, ...] = ()
    """The file itself and the local files that it reaches, each once, sorted."""
    loaded: tuple[str, ...] = ()
    """Those that are loaded for certain: by imports at the top of files, its own first."""
    third_party: tuple[str, ...] = ()
    """Installed modules outside the standard library, in order of first use."""
    not_found: frozenset[str] = frozenset()
    """The outermost names of what is neither installed nor among the user's own files."""
    lacking: Mapping[str, Sequence[tuple[int, str]]]
    """By file, the lines at its top and the dotted names that its packages do not have there."""
    trees: Mapping[str, ast.Module]
    """The parsed files by path, in the order of import; one that does not parse is left out."""


_scans: dict[tuple[str, ...], tuple[ModuleImports, Stamps]] = {}
"""What was found, by the file and the places searched; good until a file or folder changes."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A local file, and the package that its relative imports start from."""

    path: str
    package: str


def scan(module_file: str | os.PathLike[str], import_paths: Sequence[str] = ()) -> ModuleImports:
    """What `module_file` and the local files it reaches import, `import_paths` searched too.

    A file that is missing or does not parse is not an error here: the worker that imports it raises
    the user's own error, with the user's own line.
    """
    key = (os.path.abspath(module_file), *import_paths, *sys.path)
    known = _scans.get(key)
    if known is None or known[1] != {path: read_stamp(path) for path in known[1]}:
        scanner = _Scanner(key[0], import_paths)
        known = _scans[key] = scanner.scan(), scanner.stamps
    return known[0]


def find_module(dotted_name: str, import_paths: Sequence[str] = ()) -> str | None:
    """The file of a module by its dotted name, or None; its parents are not imported."""
    importlib.invalidate_caches()
    specs = _find_parts(dotted_name, [*import_paths, *sys.path])
    return _file_of(specs[-1]) if len(specs) == dotted_name.count(".") + 1 else None


def is_importable(dotted_name: str, import_paths: Sequence[str] = ()) -> bool:
    """Whether there is such a module, as far as can be told without importing its parents."""
    if "." not in dotted_name:
        try:
            if importlib.util.find_spec(dotted_name):
                return True
        except ValueError:  # a module without a spec: it is loaded, however that was done
            return True
    specs = _find_parts(dotted_name, [*import_paths, *sys.path])
    return len(specs) == dotted_name.count(".") + 1


def import_statements(tree: ast.Module) -> list[ImportStatement]:
    """The import statements that can run, in source order: not those under TYPE_CHECKING."""
    return list(_walk_imports(tree))


def _walk_imports(node: ast.AST) -> Iterator[ImportStatement]:
    children: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        children = node.orelse
    for child in children:
        if isinstance(child, ImportStatement):
            yield child
        else:
            yield from _walk_imports(child)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


class _Scanner:
    """Follows import statements from file to file, as Python would."""

    def __init__(self, module_file: str, import_paths: Sequence[str]) -> None:
        root, dotted_name = package_of(module_file)
        self.module_file = module_file
        self.package = dotted_name.rpartition(".")[0]
        self.files: set[str] = set()
        self.imported_at_top: dict[str, list[str]] = {}
        self.lacking: dict[str, list[tuple[int, str]]] = {}
        self.third_party: dict[str, None] = {}
        self.not_found: set[str] = set()
        self.trees: dict[str, ast.Module] = {}
        self.stamps: dict[str, str] = {}
        self._local_paths = [os.path.dirname(module_file), root, *import_paths]
        self._installed_paths = [*import_paths, *sys.path]

    def scan(self) -> ModuleImports:
        """Read the module file, what it reaches, and the package that it is in."""
        importlib.invalidate_caches()
        for folder in self._local_paths:
            self.stamps[folder] = read_stamp(folder)
        self.read(_Source(self.module_file, self.package))
        if self.package:
            self.follow(self.package)
        return ModuleImports(
            files=tuple(sorted(self.files)),
            loaded=tuple(self.list_loaded()),
            third_party=tuple(self.third_party),
            not_found=frozenset(self.not_found),
            lacking=self.lacking,
            trees=self.trees,
        )

    def read(self, source: _Source) -> None:
        """Read a file, unless that was done, and follow its imports."""
        for place in (source.path, os.path.dirname(source.path)):
            self.stamps.setdefault(place, read_stamp(place))
        if source.path in self.files or not os.path.isfile(source.path):
            return
        self.files.add(source.path)
        tree = _parse(source.path)
        if tree is None:
            return
        self.trees[source.path] = tree
        at_top = self.imported_at_top.setdefault(source.path, [])
        for statement in import_statements(tree):
            for name in _list_names(statement, source.package):
                paths = self.follow(name)
                if statement not in tree.body:
                    continue
                at_top += paths
                if lacking := self._find_lacking(name, statement):
                    self.lacking.setdefault(source.path, []).append((statement.lineno, lacking))

    def list_loaded(self) -> list[str]:
        """The files that Python loads with the module file, whatever the code in them does."""
        found = {self.module_file: None}
        left = [self.module_file]
        while left:
            more = [one for one in self.imported_at_top.get(left.pop(), ()) if one not in found]
            found.update(dict.fromkeys(more))
            left += more
        return list(found)

    def follow(self, dotted_name: str) -> list[str]:
        """Read the user's files that a name means, and name them, or note it as installed."""
        if dotted_name.partition(".")[0] in OUR_PACKAGES:
            return []
        specs = _find_parts(dotted_name, self._local_paths)
        if specs and self._is_local(specs[0], dotted_name.partition(".")[0]):
            return self._read_parts(dotted_name.split("."), specs)
        self._note_third_party(dotted_name)
        return []

    def _find_lacking(self, dotted_name: str, statement: ImportStatement) -> str | None:
        """What a package of the user's own does not have, neither as a module nor as a name."""
        parts = dotted_name.split(".")
        if len(_find_parts(dotted_name, self._local_paths)) in (0, len(parts)):
            return None
        specs = _find_parts(dotted_name, [*self._local_paths, *self._installed_paths])
        depth = len(specs)
        if depth == len(parts) or not self._is_local(specs[0], parts[0]):
            return None
        may_be_name = isinstance(statement, ast.ImportFrom) and depth == len(parts) - 1
        if may_be_name and specs[-1].submodule_search_locations is None:
            return None  # what a module has in it, Python tells
        if (path := _file_of(specs[-1])) and _may_have(path, parts[depth]):
            return None
        return ".".join(parts[: depth + 1])

    def _is_local(self, top: ModuleSpec, name: str) -> bool:
        if name == self.package.partition(".")[0]:
            return True
        # A module file called keras.py that imports keras means the installed one.
        own_name = _file_of(top) == self.module_file
        return not own_name and not any(is_installed(place) for place in _places(top))

    def _read_parts(self, parts: list[str], specs: list[ModuleSpec]) -> list[str]:
        paths = []
        for depth, spec in enumerate(specs, start=1):
            path = _file_of(spec)
            is_package = spec.submodule_search_locations is not None
            if path and path.endswith(".py"):
                self.read(_Source(path, ".".join(parts[: depth if is_package else depth - 1])))
                paths.append(path)
        return paths

    def _note_third_party(self, dotted_name: str) -> None:
        parts = dotted_name.split(".")
        if parts[0] in _STANDARD:
            return
        if depth := len(_find_parts(dotted_name, self._installed_paths)):
            self.third_party.setdefault(".".join(parts[:depth]))
        else:
            self.not_found.add(parts[0])


def _may_have(path: str, name: str) -> bool:
    """Whether a file may bind a name, or say where else a package's modules are."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return bool(re.search(rf"\b{name}\b|\*|__path__|__getattr__|globals\(", file.read()))


def _parse(path: str) -> ast.Module | None:
    with open(path, "rb") as file:
        text = file.read()
    with warnings.catch_warnings():
        # What Python has to say about the text, it says when the worker compiles it.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text, path)
        except (SyntaxError, ValueError):
            return None


def _list_names(statement: ImportStatement, package: str) -> list[str]:
    """The dotted names that a statement may import; `from a import b` may mean `a.b` or `a`."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    base = statement.module or ""
    if statement.level:
        parts = package.split(".") if package else []
        if statement.level > len(parts):
            return []
        kept = parts[: len(parts) - statement.level + 1]
        base = ".".join([*kept, base] if base else kept)
    return [base if alias.name == "*" else f"{base}.{alias.name}" for alias in statement.names]


def _find_parts(dotted_name: str, paths: Sequence[str]) -> list[ModuleSpec]:
    """The specs of a dotted name's parts, from the first on, as far as they are modules."""
    specs: list[ModuleSpec] = []
    search: list[str] = list(paths)
    for part in dotted_name.split("."):
        # The bare part: the full name makes a namespace package look for its parent in sys.modules.
        spec = PathFinder.find_spec(part, search)
        if spec is None:
            break
        specs.append(spec)
        if spec.submodule_search_locations is None:
            break
        search = list(spec.submodule_search_locations)
    return specs


def _file_of(spec: ModuleSpec) -> str | None:
    return os.path.abspath(spec.origin) if spec.has_location and spec.origin else None


def _places(spec: ModuleSpec) -> list[str]:
    return [_file_of(spec) or "", *(spec.submodule_search_locations or ())]


def find_package_versions(module_file: str, import_paths: Sequence[str] = ()) -> dict[str, str]:
    """The packages that a module and its neighbours import, by name, each with its version."""
    modules = scan(module_file, import_paths).third_party
    found = {}
    for module in dict.fromkeys(_find_package(name) for name in modules):
        folder = _find_folder(module, (*import_paths,))
        if folder:
            found[module.replace(os.sep, ".")] = _find_version(module, folder)
    return found


def _find_package(dotted_name: str) -> str:
    """The path of a package below the folder that it is installed in."""
    parts = dotted_name.split(".")
    return os.path.join(*parts[:2]) if parts[0] == "google" else parts[0]


@functools.cache
def _find_folder(module: str, import_paths: tuple[str, ...]) -> str | None:
    """Where a package is installed."""
    name = module.partition(os.sep)[0]
    spec = PathFinder.find_spec(name, [*import_paths])
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    return next((os.path.dirname(str(place)) for place in places if place), None)


@functools.cache
def _find_version(module: str, folder: str) -> str:
    """The version of the distribution that a package is from; where there is none, its age."""
    name = PIP_NAMES.get(module, module)
    found = [*importlib.metadata.distributions(name=name, path=[folder])]
    for distribution in found or _search(module, folder):
        return distribution.version
    place = os.path.join(folder, module)
    places = (os.path.join(place, "__init__.py"), f"{place}.py", place)
    return next((f"of {os.stat(one).st_mtime_ns}" for one in places if os.path.exists(one)), "")


def _search(module: str, folder: str) -> list[importlib.metadata.Distribution]:
    """The distributions in a folder among whose files a package is."""
    lines = [f"\n{module}{end}".encode() for end in ("/", ".py,", ".cpython-")]
    return [
        importlib.metadata.Distribution.at(record.parent)
        for record in Path(folder).glob("*.dist-info/RECORD")
        if any(line in content for content in [b"\n" + record.read_bytes()] for line in lines)
    ]
