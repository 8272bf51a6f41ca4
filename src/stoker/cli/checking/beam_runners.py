# SPDX-License-Identifier: Apache-2.0
"""The Beam runners of other machines that a file names, and what becomes of them here."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from stoker.dsl.beam import find_lack_of_runner
from stoker.user_code.known_texts import KnownTexts

_RUNNER = re.compile(r"(?:--runner=)?(?:[\w.]+\.)?((?:Test)?Dataflow|Flink|Portable|Spark)Runner")
_OPTIONS = ("PipelineOptions", "from_dictionary")
_FLAGS = "beam_pipeline_args"
_PIPELINES = ("apache_beam.Pipeline", "beam.Pipeline")
_ON_BEAM = ("Transform", "BaseBeamExecutor")
"""What of a pipeline runs where its flags say; all other steps are computed on this machine."""


class RunnerReader:
    """Finds the runners in the calls of one source, and in what it sets of options."""

    def __init__(self, tree: ast.Module, paths: KnownTexts) -> None:
        self._tree = tree
        self._paths = paths

    def find_lack(self, node: ast.Call | ast.Assign) -> str:
        """Why what is sent to other machines would not run; empty if it would, or is not sent."""
        runner = self._find_runner(node)
        return find_lack_of_runner(runner) if runner and self._sends_it(node) else ""

    def find_difference(self, node: ast.Call | ast.Assign) -> str:
        """That a runner is named for what is computed on this machine all the same."""
        runner = self._find_runner(node)
        if not runner or self._sends_it(node):
            return ""
        return (
            f"{runner} is not used: TFDV, TFMA and all steps but Transform compute on this machine."
        )

    def _sends_it(self, node: ast.Call | ast.Assign) -> bool:
        """Whether Beam itself is run with these options, or a step that may run on it."""
        if any(keyword.arg == _FLAGS for keyword in getattr(node, "keywords", ())):
            return any(name in self._names for name in _ON_BEAM)
        return any(name in self._names for name in _PIPELINES)

    @cached_property
    def _names(self) -> frozenset[str]:
        """What the file names: by one name, or by two with a dot between them."""
        nodes = list(ast.walk(self._tree))
        one = [node.id for node in nodes if isinstance(node, ast.Name)]
        one += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
        two = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
        return frozenset((*one, *two))

    def _find_runner(self, node: ast.Call | ast.Assign) -> str:
        """The runner of other machines that a call is given, or that options are set to."""
        given = _list_given(node) if isinstance(node, ast.Call) else _list_set(node)
        for text in (text for value in given for text in self._list_texts(value)):
            if found := _RUNNER.fullmatch(text):
                return f"{found[1]}Runner"
        return ""

    def _list_texts(self, value: ast.expr, depth: int = 0) -> Iterator[str]:
        value = self._paths.expand(value)
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.Name) and depth < 5:
                inner = self._paths.expand(node)
                if inner is not node:
                    yield from self._list_texts(inner, depth + 1)


def _list_given(call: ast.Call) -> Iterator[ast.expr]:
    """What may name a runner of what a call is given: flags, options, or the runner itself."""
    name = ast.unparse(call.func)
    if name.rpartition(".")[2] in _OPTIONS:
        yield from (*call.args, *(one.value for one in call.keywords))
    elif name in _PIPELINES:
        yield from call.args[:1]
    yield from (one.value for one in call.keywords if one.arg in (_FLAGS, "runner"))


def _list_set(statement: ast.Assign) -> Iterator[ast.expr]:
    """What `options.view_as(StandardOptions).runner = …` sets it to."""
    if isinstance(statement.targets[0], ast.Attribute) and statement.targets[0].attr == "runner":
        yield statement.value
