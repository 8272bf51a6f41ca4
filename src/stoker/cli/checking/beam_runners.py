# SPDX-License-Identifier: Apache-2.0
"""The Beam runners of other machines that a file names, and what becomes of them here."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from stoker.cli.checking.paths import KnownPaths
from stoker.dsl.beam import find_lack_of_runner

_RUNNER = re.compile(r"(?:--runner=)?(?:[\w.]+\.)?((?:Test)?Dataflow|Flink|Portable|Spark)Runner")
_OPTIONS = ("PipelineOptions", "from_dictionary")
_FLAGS = "beam_pipeline_args"
_ON_BEAM = ("Transform", "BaseBeamExecutor")
"""What of a pipeline runs where its flags say; all other steps are computed on this machine."""


class RunnerReader:
    """Finds the runners in the calls of one source."""

    def __init__(self, tree: ast.Module, paths: KnownPaths) -> None:
        self._tree = tree
        self._paths = paths

    def find_lack(self, call: ast.Call) -> str:
        """Why what a call sends to other machines would not run; empty if it would, or is not."""
        runner = self._find_runner(call)
        return find_lack_of_runner(runner) if runner and self._sends_it(call) else ""

    def find_difference(self, call: ast.Call) -> str:
        """That a runner is named for what is computed on this machine all the same."""
        runner = self._find_runner(call)
        if not runner or self._sends_it(call):
            return ""
        return (
            f"{runner} is not used: TFDV, TFMA and all steps but Transform compute on this machine."
        )

    def _sends_it(self, call: ast.Call) -> bool:
        """Whether Beam itself is run with what the call is given, or a step that may run on it."""
        if any(keyword.arg == _FLAGS for keyword in call.keywords):
            return any(name in self._names for name in _ON_BEAM)
        return "beam.Pipeline" in self._names or "apache_beam.Pipeline" in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        """What the file names: by one name, or by two with a dot between them."""
        nodes = list(ast.walk(self._tree))
        one = [node.id for node in nodes if isinstance(node, ast.Name)]
        one += [node.attr for node in nodes if isinstance(node, ast.Attribute)]
        two = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
        return frozenset((*one, *two))

    def _find_runner(self, call: ast.Call) -> str:
        """The runner of other machines in the options or flags that a call is given."""
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        given = [one.value for one in call.keywords if one.arg in (_FLAGS, "runner")]
        if name in _OPTIONS:
            given += [*call.args, *(one.value for one in call.keywords)]
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
