# SPDX-License-Identifier: Apache-2.0
"""What of a file runs, differs on purpose, needs something, or is refused: line by line."""

import ast
import contextlib
import enum
import glob
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stoker.any_python.layout import is_remote
from stoker.any_python.url_files import PlaceError, find_lack, require_place, require_server
from stoker.cli.checking.beam_runners import RunnerReader
from stoker.cli.checking.names import (
    FAMILY,
    PROVIDERS,
    Missing,
    Names,
    is_family,
)
from stoker.cli.checking.notebooks import Notebook
from stoker.cli.checking.old_layouts import OldLayouts
from stoker.cli.checking.older_pandas import find_older_call, is_append
from stoker.cli.checking.sessions import find_eager_runs
from stoker.cli.checking.sources import Source
from stoker.cli.checking.steps import StepReader
from stoker.cli.checking.undefined import find_undefined
from stoker.cli.checking.unlisted import StepLists
from stoker.user_code.downloads import DownloadReader
from stoker.user_code.imports import is_importable
from stoker.user_code.keras_choice import (
    asks_for_keras_3,
    find_keras_2_lines,
    users_environ,
    uses_keras_2,
)
from stoker.user_code.known_packages import KNOWN, RUN_HERE, find_package
from stoker.user_code.known_texts import KnownTexts, get_name
from stoker.user_code.problems import changes_path
from stoker.user_code.sure_lines import find_sure_nodes
from stoker.user_code.variables import VariableReader
from stoker.views.users_errors import NEEDS_GRAPH


class State(enum.StrEnum):
    """What becomes of a line."""

    RUNS = "runs"
    DIFFERS = "differs"
    NEEDS = "needs"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to know about a line, or about a file as a whole."""

    state: State
    file: str
    cell: int | None = None
    line: int | None = None
    message: str
    may_not_matter: bool = False
    """Whether it may run all the same: a line under an `if`, data that the code itself gets."""

    @property
    def blocks(self) -> bool:
        """Whether the file would not run to its end."""
        return self.state in (State.NEEDS, State.REFUSED) and not self.may_not_matter

    @property
    def is_of_other_runners(self) -> bool:
        """Whether the line is for an orchestrator that Stoker is not."""
        return self.state is State.REFUSED and self.message.endswith(RUN_HERE)

    @property
    def where(self) -> str:
        """The file, the cell and the line."""
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell}:{self.line}" if self.line else self.file


_ELSEWHERE = (
    "makes a file of commands, one for each step; `stoker run` runs the pipeline on this machine."
)
DIFFERENCES = {
    "AirflowDAGRunner": _ELSEWHERE,
    "AirflowDagRunner": _ELSEWHERE,
    "BeamDagRunner": "runs the steps in processes of this machine, not as a Beam pipeline.",
    "InfraValidator": "tries the model in a fresh process if TensorFlow Serving is not found.",
    "InteractiveContext": "runs each step in a process of its own, not in the kernel.",
    "KubeflowDagRunner": _ELSEWHERE,
    "KubeflowV2DagRunner": _ELSEWHERE,
    "ModelValidator": "blesses a model that answers; thresholds are Evaluator's.",
    "telemetry_utils": "reports nothing to anybody.",
    "visualize_statistics": "draws Stoker's own view, without Facets.",
}
"""What does something else than in TFX, on purpose, by its last name."""

USER_FUNCTIONS = frozenset({"run_fn", "trainer_fn", "tuner_fn", "preprocessing_fn"})
_INSTALLED_OVER_OURS = frozenset({"ml-pipelines-sdk", "tfx"})
_PINNED_HERE = frozenset(
    {"keras", "protobuf", "tensorflow", "tensorflow-cpu", "tensorflow-transform", "tfx-bsl"}
)
_BRINGS_TENSORFLOW = frozenset({"tensorflow-data-validation", "tensorflow-model-analysis"})
_MAY_BRING_TENSORFLOW = frozenset(
    {
        *("fairness-indicators", "model-card-toolkit", "tensorboard-plugin-fairness-indicators"),
        *("tensorflow-serving-api", "tensorflow-text"),
    }
)
_FILES = ("module_file", "schema_file")
_FOLDERS = ("data_root", "input_base")
_DATA = ("data_location", "filepath_or_buffer", "input_path")
_FETCHERS = frozenset(
    {"download", "extractall", "get_file", "load_dataset", "unpack_archive", "urlopen"}
    | {"urlretrieve", "check_call", "check_output", "run", "system", "Popen"}
)
"""Functions after which a file may be there that the text alone does not show."""
_READ = (*_FILES, *_FOLDERS, *_DATA, "source_uri")
_PLACES = (*_READ, "base_directory", "pipeline_root")
_BY_POSITION = {
    **dict.fromkeys(
        ("ExampleGen", "csv_input", "external_input", "parquet_input", "tfrecord_input"),
        (0, "input_base"),
    ),
    **dict.fromkeys(
        (
            *("generate_statistics_from_csv", "generate_statistics_from_tfrecord"),
            *("validate_examples_in_csv", "validate_examples_in_tfrecord"),
        ),
        (0, "data_location"),
    ),
    **dict.fromkeys(
        (
            *("load_anomalies_binary", "load_anomalies_text", "load_schema_text"),
            *("load_statistics", "load_stats_binary", "load_stats_text"),
        ),
        (0, "input_path"),
    ),
    "read_csv": (0, "filepath_or_buffer"),
    "ImportSchemaGen": (0, "schema_file"),
    "Importer": (0, "source_uri"),
    "Pipeline": (1, "pipeline_root"),
}
"""The places that calls take without a name: at which position, and what they are."""


def check_source(source: Source) -> list[Finding]:
    """Everything to know about a source, what runs first, then line by line."""
    with open(source.path, "rb") as file:
        text = file.read()
    try:
        tree = ast.parse(text, source.path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = f"this is not Python: {getattr(error, 'msg', error)}"
        return [Finding(state=State.REFUSED, file=source.shown, line=line, message=reason)]
    checker = _Checker(source, tree, text.decode(errors="replace"))
    checker.read(tree)
    by_line = sorted(checker.found.items(), key=lambda one: one[0][0])
    return [*checker.describe_names(), *(finding for _, finding in by_line)]


class _Reach(enum.IntEnum):
    """Whether a line is run when its file is."""

    ALWAYS = 0
    MAYBE = 1
    """Under an `if`, say."""
    REPORTED = 2
    """In a `try` that any error ends: an import there is one of two ways, other lines are work."""
    CAUGHT = 3
    """In a `try` that goes on if something is missing."""


@dataclass(frozen=True, slots=True)
class _Visit:
    node: ast.AST
    reach: _Reach
    hidden: frozenset[str]
    """Names that mean something of a function's own there."""


class _Checker:
    """Reads one source."""

    def __init__(self, source: Source, tree: ast.Module, text: str) -> None:
        self.found: dict[tuple[int, str], Finding] = {}
        """By the line in the text and the message, so that each is said once."""
        self._source = source
        self._names = Names()
        others = dict(_parse_all(source.beside))
        self._paths = KnownTexts(tree, source.path, others)
        self._written = self._paths.find_written(tree)
        self._steps = StepReader(tree, source, self._paths)
        self._lists = StepLists(tree)
        self._old_layouts = OldLayouts(tree)
        self._runners = RunnerReader(tree, self._paths)
        self._downloads = DownloadReader(tree, source.path)
        self._variables = VariableReader(
            [tree, *(others[one] for one in source.reaches if one in others)]
        )
        self._sure_nodes = find_sure_nodes([tree], USER_FUNCTIONS)
        self._is_module = any(
            isinstance(one, ast.FunctionDef) and one.name in USER_FUNCTIONS for one in tree.body
        )
        names = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(tree)}
        is_compiled = any(DIFFERENCES.get(name) is _ELSEWHERE for name in names)
        self._is_compiled = is_compiled and "InteractiveContext" not in names
        self._undefined = find_undefined(tree, text, source.notebook)
        self._eager_run = next(find_eager_runs(tree, text), None)
        self._installs = self._read_installs()
        called = {get_name(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
        self._may_be_made_here = bool(source.notebook) or bool(called & _FETCHERS)
        self._changes_path = any(map(changes_path, ast.walk(tree)))
        self._given_back: list[tuple[str, int, _Reach]] = []
        self._early_lines = frozenset() if self._is_module else _list_early_lines(tree)

    def read(self, tree: ast.Module) -> None:
        """Look at every line that can be reached."""
        for visit in _walk(tree, _Reach.ALWAYS, frozenset()):
            self._names.hidden = visit.hidden
            node = visit.node
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._read_import(node, visit.reach)
            elif isinstance(node, ast.Call):
                self._read_call(node, visit.reach)
            elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
                with self._noting(node.lineno, visit.reach):
                    self._read_name(node)
                self._read_undefined(node, visit.reach)
            elif isinstance(node, ast.Assign):
                self._read_assignment(node, visit.reach)
            self._read_variable(node, visit.reach)
        if self._source.notebook:
            self._read_commands(self._source.notebook)
            way = "cells have Keras 3: put %env TF_USE_LEGACY_KERAS=1 into the first cell."
            self._read_keras(tree, way)
        elif self._is_program():
            self._read_keras(tree, "it runs with Keras 3: set TF_USE_LEGACY_KERAS=1 for it.")
        is_without_any = self._is_program() and not self._names_any(*PROVIDERS)
        for name, line, reach in self._given_back:
            if is_without_any or line in self._early_lines:
                message = f"{name} is there only after tfx: put `import tfx` before this line."
                self._add(State.NEEDS, line, message, reach)

    def _read_commands(self, notebook: Notebook) -> None:
        """What of the cells is not Python, and what they have the shell fetch."""
        for line, reason in notebook.broken:
            self._add(State.REFUSED, line, reason)
        for line, command in notebook.fetches:
            message = f"{command} needs the network: put what it fetches here first, by its path."
            self._add(State.NEEDS, line, message, may_not_matter=True)

    def _read_keras(self, tree: ast.Module, way: str) -> None:
        """What cells, or a program, do that the Keras of their process does not."""
        if uses_keras_2(users_environ()) or self._has_keras_2(tree):
            return
        for line, sign in find_keras_2_lines(tree):
            self._add(State.NEEDS, line, f"{sign}, which is of Keras 2, and {way}")

    def _has_keras_2(self, tree: ast.Module) -> bool:
        """Whether tf.keras becomes Keras 2 by what cells, or a program, import."""
        return self._names_any(*PROVIDERS) and not asks_for_keras_3(tree)

    def _is_program(self) -> bool:
        """Whether Python alone would run the text."""
        # What runs a preprocessing_fn on Beam itself is no module, though it has one.
        is_module = self._is_module and not self._names_any("tensorflow_transform.beam")
        return not (self._source.is_reached or self._source.reaches or is_module)

    def _names_any(self, *packages: str) -> bool:
        """Whether the text names something of one of the packages."""
        below = tuple(f"{package}." for package in packages)
        return any(f"{name}.".startswith(below) for name in self._names.used)

    def describe_names(self) -> Iterator[Finding]:
        """What is found of each package of the family."""
        counts = Counter(name.partition(".")[0] for name in self._names.used)
        if counts:
            named = [f"{counts[top]} of {top}" for top in FAMILY if counts[top]]
            yield Finding(
                state=State.RUNS,
                file=self._source.shown,
                message=f"names found: {', '.join(named)}.",
            )

    def _read_import(self, statement: ast.Import | ast.ImportFrom, reach: _Reach) -> None:
        for alias in statement.names:
            caught = _Reach.CAUGHT if reach is _Reach.REPORTED else reach
            with self._noting(statement.lineno, caught):
                self._names.bind(statement, alias)
        if not (isinstance(statement, ast.ImportFrom) and statement.level):
            for module in _list_modules(statement):
                self._check_installed(module, statement.lineno, reach)

    def _read_call(self, call: ast.Call, reach: _Reach) -> None:
        with self._noting(call.lineno, reach):
            self._names.check_arguments(call)
        with self._noting(call.lineno, reach):
            self._names.check_use(call)
        self._read_paths(call, reach)
        for message in (*self._steps.find_problems(call), *self._lists.find_unlisted(call)):
            self._add(State.NEEDS, call.lineno, message, reach)
        self._read_download(call, reach)
        self._read_runner(call, reach)
        if older := find_older_call(call):
            self._add(State.NEEDS, call.lineno, older, reach)
        if call is self._eager_run:
            self._add(State.NEEDS, call.lineno, NEEDS_GRAPH, reach)
        if is_append(call) and not older:
            self._given_back.append(("DataFrame.append", call.lineno, reach))
        if problem := self._old_layouts.find_problem(call):
            self._add(State.NEEDS, call.lineno, problem, reach)
        for message in self._steps.find_doubts(call):
            self._add(State.NEEDS, call.lineno, message, reach, may_not_matter=True)

    def _read_assignment(self, node: ast.Assign, reach: _Reach) -> None:
        self._read_runner(node, reach)
        if isinstance(node.targets[0], ast.Name):
            with self._noting(node.lineno, reach):
                self._names.assign(node.targets[0].id, node.value)

    def _read_download(self, call: ast.Call, reach: _Reach) -> None:
        """What a call fetches matters where it is made for certain and nobody answers."""
        fetched = self._downloads.read(call)
        if fetched is None:
            return
        message, is_vain = fetched.message, False
        try:
            if fetched.server:
                require_server(fetched.server)
        except PlaceError as error:
            message = f"{error} {message}"
            is_vain = call in self._sure_nodes and not fetched.goes_on
        self._add(State.NEEDS, call.lineno, message, reach, may_not_matter=not is_vain)

    def _read_runner(self, node: ast.Call | ast.Assign, reach: _Reach) -> None:
        """A Beam runner of other machines: it may be out of reach, or not be used at all."""
        if lack := self._runners.find_lack(node):
            in_doubt = not (isinstance(node, ast.Call) and node in self._sure_nodes)
            self._add(State.NEEDS, node.lineno, lack, reach, may_not_matter=in_doubt)
        elif difference := self._runners.find_difference(node):
            self._add(State.DIFFERS, node.lineno, difference)

    def _read_variable(self, node: ast.AST, reach: _Reach) -> None:
        """A variable that another file may set is in doubt, unless this one is run alone."""
        if reach >= _Reach.REPORTED or not isinstance(node, ast.expr):
            return
        if lack := self._variables.find_lack(node) or self._variables.find_lack_of_text(node):
            in_doubt = node not in self._sure_nodes or self._source.is_reached
            self._add(State.NEEDS, node.lineno, lack, reach, may_not_matter=in_doubt)

    def _check_installed(self, module: str, line: int, reach: _Reach) -> None:
        top = module.partition(".")[0]
        if is_family(module) or top in sys.stdlib_module_names or reach >= _Reach.REPORTED:
            return
        if is_importable(module, self._source.folders):
            return
        package = find_package(module)
        if self._changes_path and module not in KNOWN:
            message = f"{module} is not here, unless it is where sys.path is made to look."
            self._add(State.NEEDS, line, message, reach, may_not_matter=True)
            return
        if _normalize(package.pip.split()[-1] if package.pip else "") in self._installs:
            return
        state = State.NEEDS if package.pip or package.environment else State.REFUSED
        self._add(state, line, package.describe(module), reach)

    def _read_name(self, node: ast.Attribute | ast.Name) -> None:
        last = node.attr if isinstance(node, ast.Attribute) else node.id
        if self._names.find(node) is not None and last in DIFFERENCES:
            message = f"{last} {DIFFERENCES[last]}"
            if not any(one.message == message for one in self.found.values()):
                self._add(State.DIFFERS, node.lineno, message)

    def _read_undefined(self, node: ast.Attribute | ast.Name, reach: _Reach) -> None:
        if (message := self._undefined.get(node)) and reach < _Reach.REPORTED:
            sure = reach if node in self._sure_nodes else _Reach.MAYBE
            self._add(State.REFUSED, node.lineno, message, max(reach, sure))

    def _read_paths(self, call: ast.Call, reach: _Reach) -> None:
        """The files and folders that a call names must be there, where the text says them."""
        for keyword in call.keywords:
            if keyword.arg and keyword.arg.endswith(_PLACES):
                self._check_place(keyword.value, reach, keyword.arg, call)
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        kind = "ExampleGen" if name.endswith("ExampleGen") else name
        if kind in _BY_POSITION:
            position, argument = _BY_POSITION[kind]
            for value in call.args[position : position + 1]:
                self._check_place(value, reach, argument, call)

    def _check_place(self, node: ast.expr, reach: _Reach, argument: str, call: ast.Call) -> None:
        path = self._paths.find(node)
        if path is None:
            return
        if is_remote(path):
            self._check_remote(path, node.lineno, reach, argument)
        elif argument.endswith(_FILES) and not (path in self._written or self._is_there(path)):
            message = f"there is no file {path}: put it there, or give another path."
            self._add(State.NEEDS, node.lineno, message, reach)
        elif argument in _DATA:
            self._check_data(path, node.lineno, reach, call)
        elif argument.endswith(_FOLDERS) and not self._is_there(path):
            message = f"there is no folder {path} yet: put the data there, unless the code does."
            self._add(State.NEEDS, node.lineno, message, reach, may_not_matter=True)

    def _check_data(self, path: str, line: int, reach: _Reach, call: ast.Call) -> None:
        """What a program reads; a step's module is run elsewhere, and with other files."""
        if self._is_module or path in self._written or self._is_there(path):
            return
        message = f"there is no file {path}: put it there, unless the code does."
        in_doubt = call not in self._sure_nodes or self._may_be_made_here
        self._add(State.NEEDS, line, message, reach, may_not_matter=in_doubt)

    def _check_remote(self, path: str, line: int, reach: _Reach, argument: str) -> None:
        """What is read from a bucket needs its server, unless another machine will read it."""
        if lack := find_lack(path):
            state = State.NEEDS if "pip install" in lack else State.REFUSED
            self._add(state, line, f"{path} cannot be reached. {lack}", reach)
            return
        try:
            require_place(path)
        except PlaceError as error:
            is_read_here = argument.endswith(_READ) and not self._is_compiled
            self._add(State.NEEDS, line, str(error), reach, may_not_matter=not is_read_here)

    def _is_there(self, path: str) -> bool:
        names = [path]
        if self._source.notebook:  # what cells write lies beside them, wherever they put it
            names.append(os.path.basename(path))
        folders = self._source.folders
        places = (os.path.join(one, name) for one in folders for name in names)
        return any(os.path.exists(place) or bool(glob.glob(place)) for place in places)

    def _read_installs(self) -> frozenset[str]:
        """What a notebook installs by itself."""
        found = set()
        for line, arguments in self._source.notebook.installs if self._source.notebook else ():
            for word in arguments.split():
                name = _normalize(re.split(r"[\[=<>!~;]", word.strip("'\""))[0])
                found.add(name)
                if told := _describe_install(name, arguments):
                    self._add(State.DIFFERS, line, f"pip install {name} {told}")
        return frozenset(found)

    @contextlib.contextmanager
    def _noting(self, line: int, reach: _Reach) -> Iterator[None]:
        """Note what is missing, unless the code goes on without it."""
        self._names.of_tensorflow_1.clear()
        try:
            yield
            if reach is not _Reach.CAUGHT:
                named = self._names.of_tensorflow_1
                self._given_back += [(name, line, reach) for name in named]
        except Missing as missing:
            if reach is not _Reach.CAUGHT:
                # What names a command to have it by, can be had.
                needs = "pip install" in str(missing) or "stoker env" in str(missing)
                state = State.NEEDS if needs else State.REFUSED
                self._add(state, line, str(missing), reach)

    def _add(
        self,
        state: State,
        line: int,
        message: str,
        reach: _Reach = _Reach.ALWAYS,
        *,
        may_not_matter: bool = False,
    ) -> None:
        cell, line_there = self._source.locate(line)
        is_sure = reach is _Reach.ALWAYS
        finding = Finding(
            state=state,
            file=self._source.shown,
            cell=cell,
            line=line_there,
            message=message if is_sure else f"if this line is reached: {message}",
            may_not_matter=may_not_matter or not is_sure,
        )
        self.found.setdefault((line, message), finding)


def _parse_all(paths: Sequence[str]) -> Iterator[tuple[str, ast.Module]]:
    """The files that are Python, parsed; of the others their own findings say it."""
    for path in paths:
        with contextlib.suppress(OSError, SyntaxError, ValueError), open(path, "rb") as file:
            yield path, ast.parse(file.read())


def _list_early_lines(tree: ast.Module) -> frozenset[int]:
    """The lines that Python runs before the first import of a provider; none if there is none."""
    early: list[int] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if any(name in PROVIDERS for name in _list_modules(statement)):
                return frozenset(early)
        elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            early += range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    return frozenset()


def _list_modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """What has to be installed; below google each name is a package of its own."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    else:
        names = [f"{statement.module}.{alias.name}" for alias in statement.names]
    return [
        ".".join(name.split(".")[: 3 if name.startswith("google.cloud.") else 2])
        if name.startswith("google.")
        else name.partition(".")[0]
        for name in names
    ]


def _describe_install(name: str, arguments: str) -> str:
    """What a notebook's installing a package does to what is installed here; empty for nothing."""
    if name in _INSTALLED_OVER_OURS:
        return "would write TFX over Stoker: leave the line out."
    if name in _BRINGS_TENSORFLOW:
        return "may bring another TensorFlow, and Stoker has its names: leave the line out."
    if name in _MAY_BRING_TENSORFLOW and "--no-deps" not in arguments:
        return "may bring another TensorFlow: install it with --no-deps."
    if name in _PINNED_HERE:
        return "may replace the version that Stoker was tried with: leave the line out."
    return ""


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _walk(node: ast.AST, reach: _Reach, hidden: frozenset[str]) -> Iterator[_Visit]:
    """Every node that can be reached, in the order of the text, with how it is reached."""
    yield _Visit(node, reach, hidden)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        hidden |= _list_own_names(node)
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        inside = _find_reach(node, name, reach)
        for child in children:
            if isinstance(child, ast.AST) and inside is not None:
                yield from _walk(child, inside, hidden)
                if isinstance(child, ast.If) and isinstance(child.body[-1], ast.Return):
                    inside = max(inside, _Reach.MAYBE)  # what follows may not be reached


def _find_reach(node: ast.AST, part: str, reach: _Reach) -> _Reach | None:
    """How a part of a node is reached; None for what only type checkers read."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return None if part == "body" else reach
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return reach
        case ast.If() | ast.IfExp() if part != "test":
            return max(reach, _Reach.MAYBE)
        case ast.Match() if part == "cases":
            return max(reach, _Reach.MAYBE)
        case ast.Try(handlers=handlers):
            if part == "body":
                return max([reach, *map(_find_catch, handlers)])
            return max(reach, _Reach.MAYBE) if part == "handlers" else reach
    return reach


def _find_catch(handler: ast.ExceptHandler) -> _Reach:
    """How lines before a handler are reached, by what it catches."""
    caught = [
        node.id
        for node in ast.walk(handler.type or ast.Name("Exception"))
        if isinstance(node, ast.Name)
    ]
    if not {"AttributeError", "ImportError", "KeyError", "ModuleNotFoundError"}.isdisjoint(caught):
        return _Reach.CAUGHT
    return _Reach.REPORTED if "Exception" in caught else _Reach.ALWAYS


def _list_own_names(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> frozenset[str]:
    """What a function binds itself: its arguments, and what it assigns."""
    names = [node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    body: Sequence[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else function.body
    names += [
        node.id
        for one in body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return frozenset(names)
