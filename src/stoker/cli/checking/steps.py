# SPDX-License-Identifier: Apache-2.0
"""What steps are given that is not there: functions, interpreters, GPUs, data, labels, metrics.

A run says the same before its first step; here it is said as far as the text alone shows it.
"""

import ast
import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cached_property

from stoker.any_python.lines import did_you_mean
from stoker.any_python.url_files import PlaceError, require_server
from stoker.cli.checking.sources import Source
from stoker.data.csv_header import find_other_header, read_header
from stoker.data.input_files import find_files
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, MetricConfig, MetricsSpec
from stoker.errors import BadData, StokerError
from stoker.evaluation.chosen_engine import check_config
from stoker.launchers.interpreters.venvs import resolve
from stoker.launchers.resources import check_gpus
from stoker.task import Workers
from stoker.user_code.known_texts import KnownTexts
from stoker.user_code.made_features import may_make_features
from stoker.user_code.problems import find_missing_function

_FUNCTIONS = {
    "Trainer": ("run_fn", "trainer_fn"),
    "Transform": ("preprocessing_fn",),
    "Tuner": ("tuner_fn",),
}
_LABELS = ("label_key", "example_weight_key")
_NAMES_METRIC = ("class_name", "module", "config")
_MADE_BY_MODELS = ("preprocessing_function_names", "signature_name")


class StepReader:
    """Reads the calls in one source that make steps, or what steps are given."""

    def __init__(self, tree: ast.Module, source: Source, paths: KnownTexts) -> None:
        self._tree = tree
        self._source = source
        self._paths = paths

    def find_problems(self, call: ast.Call) -> Iterator[str]:
        """Why the step that a call declares would fail."""
        name = _find_name(call)
        given = {one.arg: one.value for one in call.keywords if one.arg}
        if name in _FUNCTIONS:
            yield from self._check_code(_FUNCTIONS[name], given)
        elif name == "Workers":
            yield from _check_workers(call)
        elif name == "CsvExampleGen" and "custom_executor_spec" not in given:
            yield from self._check_headers(call)
        elif name == "BigQueryExampleGen" and not os.environ.get("BIGQUERY_EMULATOR_HOST"):
            yield from _check_server("bigquery.googleapis.com")
        elif name == "MetricConfig":
            yield from self._check_metric(given)
        elif name == "ModelSpec" and not any(key in given for key in _MADE_BY_MODELS):
            for key in _LABELS:
                if text := self._find(given.get(key)):
                    yield from self._check_feature(f"{key}={text!r}", text)

    def find_doubts(self, call: ast.Call) -> Iterator[str]:
        """What may be wrong with the step that a call declares."""
        name = _find_name(call)
        given = {one.arg: one.value for one in call.keywords if one.arg}
        if name == "SlicingSpec" and isinstance(keys := given.get("feature_keys"), ast.List):
            for text in filter(None, map(self._find, keys.elts)):
                yield from self._check_feature(f"the slice by {text!r}", text)
        elif name.endswith("ExampleGen") and "input_config" not in given:
            folder = self._find_path(given.get("input_base", next(iter(call.args), None)))
            if folder and os.path.isdir(folder) and not find_files(folder):
                yield f"there is no file in {folder} yet: put the data there, unless the code does."

    def _check_code(self, functions: tuple[str, ...], given: dict[str, ast.expr]) -> Iterator[str]:
        if python := self._find(given.get("python")):
            try:
                resolve(python)
            except StokerError as error:
                yield str(error)
        elif not {*functions, "custom_executor_spec"} & given.keys():
            path = self._find_path(given.get("module_file"))
            if path and os.path.isfile(path):
                yield from find_missing_function(path, functions)

    def _check_headers(self, call: ast.Call) -> Iterator[str]:
        files = self._find_data(call)
        beside = [one for one in files if os.path.dirname(one) == os.path.dirname(files[0])]
        with contextlib.suppress(BadData):  # what is no CSV at all, the step tells
            if other := find_other_header(beside):
                yield other

    def _check_metric(self, given: dict[str, ast.expr]) -> Iterator[str]:
        name, module, config = (
            self._find(given[key]) if key in given else "" for key in _NAMES_METRIC
        )
        if not name or module is None or config is None:
            return
        spec = MetricsSpec(metrics=[MetricConfig(class_name=name, module=module, config=config)])
        try:
            check_config(EvalConfig(metrics_specs=[spec]), asked=None)
        except (StokerError, ValueError) as error:
            yield str(error)

    def _find_data(self, call: ast.Call) -> list[str]:
        """The files that are there for an ExampleGen that is given a folder."""
        given = {one.arg: one.value for one in call.keywords}
        folder = self._find_path(given.get("input_base", next(iter(call.args), None)))
        return find_files(folder) if folder and "input_config" not in given else []

    def _check_feature(self, what: str, name: str) -> Iterator[str]:
        known = self._features
        if known and name not in known:
            near = did_you_mean(name, known)
            yield f"{what} is no column of the data.{near} It has {', '.join(sorted(known))}."

    @cached_property
    def _features(self) -> frozenset[str]:
        """The columns of the CSV that the file's models are evaluated on; none where not known."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        gens = [call for call in calls if _find_name(call).endswith("ExampleGen")]
        if len(gens) != 1 or _find_name(gens[0]) != "CsvExampleGen" or self._makes_features():
            return frozenset()
        if any(map(_evaluates_other_examples, calls)):
            return frozenset()
        files = self._find_data(gens[0])
        try:
            return frozenset(read_header(files[0])) if files else frozenset()
        except BadData:
            return frozenset()

    def _makes_features(self) -> bool:
        """Whether a model has signatures that make labels and features for its evaluation."""
        return any(map(may_make_features, (self._source.path, *self._source.reaches)))

    def _find(self, node: ast.expr | None) -> str | None:
        return self._paths.find(node) if node else None

    def _find_path(self, node: ast.expr | None) -> str | None:
        if not (path := self._find(node)):
            return None
        places = (os.path.join(folder, path) for folder in self._source.folders)
        return next(filter(os.path.exists, places), None)


def _find_name(call: ast.Call) -> str:
    name: str = getattr(call.func, "id", getattr(call.func, "attr", ""))
    return name


def _evaluates_other_examples(call: ast.Call) -> bool:
    """Whether an Evaluator may be given what another step made of the data: other columns."""
    return _find_name(call) == "Evaluator" and not any(
        ast.unparse(one.value).endswith(("outputs['examples']", "outputs.examples"))
        for one in call.keywords
        if one.arg == "examples"
    )


def _check_server(server: str) -> Iterator[str]:
    try:
        require_server(server)
    except PlaceError as error:
        yield str(error)


def _check_workers(call: ast.Call) -> Iterator[str]:
    values = [*call.args, *(one.value for one in call.keywords)]
    if not all(isinstance(value, ast.Constant) for value in values):
        return
    make: Callable[..., Workers] = Workers
    arguments = [ast.literal_eval(value) for value in call.args]
    options = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
    try:
        check_gpus(make(*arguments, **options))
    except (TypeError, ValueError) as error:
        yield str(error)
