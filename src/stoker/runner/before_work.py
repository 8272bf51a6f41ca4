# SPDX-License-Identifier: Apache-2.0
"""What would make a step fail for certain: told for all steps before the first of them runs.

Planning a step (`plan.py`) finds its module, its Keras, its workers and its interpreter. Each kind
of step says what else it can see: `BaseComponent.find_problems` and `check_features`.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.any_python import fileio
from stoker.any_python.forking import num_cpus
from stoker.any_python.url_files import PlaceError, require_server
from stoker.components.importer import Importer
from stoker.dsl.beam import parse_flags
from stoker.dsl.component import BaseComponent, Node, Problem
from stoker.dsl.user_code import UserCodeComponent
from stoker.errors import BadPipeline
from stoker.launchers import Launcher
from stoker.launchers.processes import Processes
from stoker.launchers.resources import check_gpus
from stoker.runner.plan import StepPlan
from stoker.user_code.downloads import DownloadReader
from stoker.user_code.imports import is_importable, scan
from stoker.user_code.known_packages import find_package
from stoker.user_code.made_features import may_make_features
from stoker.user_code.problems import find_problems
from stoker.user_code.sure_lines import find_sure_nodes
from stoker.user_code.variables import VariableReader
from stoker.views.table import readable_path


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeWork:
    """Looks at steps that are planned; nothing is imported, and what is in doubt passes."""

    plans: Mapping[str, StepPlan]
    given: dict[str, Any]
    launcher: Launcher
    beam_pipeline_args: Sequence[Any] = ()
    """Those of the pipeline, for steps that have none of their own."""

    def check(self, nodes: Sequence[Node], unplanned: Mapping[str, str]) -> list[str]:
        """What the user should know; raises BadPipeline for what cannot work.

        `unplanned` says of the steps that have no plan why.
        """
        found = [
            (node, problem)
            for node in nodes
            for problem in (
                [Problem(text=unplanned[node.id])]
                if node.id in unplanned
                else list(self._find_problems(node))
            )
        ]
        if certain := _describe_certain(found):
            raise BadPipeline(
                "\n  ".join(["Nothing was run.", *certain] if certain[1:] else certain)
            )
        # Of a file that several steps load, once: the last of them is the one that trains.
        doubts = {problem.text: node.id for node, problem in found}
        return [f"{node_id}: warning: {text}" for text, node_id in doubts.items()]

    def _find_problems(self, node: Node) -> Iterator[Problem]:
        if isinstance(node, Importer) and _reads_what_is_there(node):
            uri = node.find_uri(self.given)
            if not fileio.exists(uri):
                yield Problem(text=f"there is nothing at source_uri={uri!r}.")
        if not isinstance(node, BaseComponent):
            return
        yield from self._find_lack(node)
        if not _is_ours(node):
            return  # an executor of the user's own may need something else
        plan = self.plans[node.id]
        lacks = _find_missing_packages(node, plan) or _find_problems_of_code(node, plan)
        yield from (Problem(text=text) for text in lacks)
        yield from _find_lacks_of_code(node, plan, self.launcher)
        if _reads_what_is_there(node) and not node.spec.placeholders:
            yield from _find_missing_files(node, plan)
            yield from node.find_problems(dict(plan.parameters))
            yield from self._check_features(node, plan)

    def _find_lack(self, node: BaseComponent) -> Iterator[Problem]:
        """What this machine lacks of what a step, and its workers, ask for."""
        yield from node.find_lacks()
        yield from self._find_lack_of_beam(node)
        if not (node.workers and node.workers.is_group and isinstance(self.launcher, Processes)):
            return
        try:
            check_gpus(node.workers)
        except ValueError as error:
            yield Problem(text=str(error))
        if node.workers.count > num_cpus():
            text = f"its {node.workers.count} workers share {num_cpus()} processors."
            yield Problem(text=text, is_certain=False)

    def _find_lack_of_beam(self, node: BaseComponent) -> Iterator[Problem]:
        """That the Beam runner which the flags name cannot be asked; flags may be for later."""
        flags = node.beam_pipeline_args or self.beam_pipeline_args
        if not node.uses_beam or not all(isinstance(flag, str) for flag in flags):
            return
        if lack := parse_flags(flags).find_lack():
            yield Problem(text=lack, is_certain=_is_ours(node))

    def _check_features(self, node: BaseComponent, plan: StepPlan) -> Iterable[Problem]:
        if type(node).check_features is BaseComponent.check_features:
            return ()
        examples = node.inputs.get("examples")
        maker = examples.producer if examples else None
        if not (isinstance(maker, BaseComponent) and maker.id in self.plans and _is_ours(maker)):
            return ()
        if any(map(may_make_features, self._list_code_before(node))):
            return ()
        known = maker.find_features(dict(self.plans[maker.id].parameters))
        return node.check_features(dict(plan.parameters), known) if known else ()

    def _list_code_before(self, node: Node) -> list[str]:
        plans = [self.plans[one.id] for one in node.producers if one.id in self.plans]
        return [file for plan in plans for file in plan.code_files]


def _describe_certain(found: Iterable[tuple[Node, Problem]]) -> list[str]:
    """A line for each; what several steps share, such as a module's fault, is told once."""
    steps: dict[str, list[str]] = {}
    for node, problem in found:
        if problem.is_certain:
            steps.setdefault(problem.text, []).append(node.id)
    return [f"{', '.join(dict.fromkeys(ids))}: {text}" for text, ids in steps.items()]


def _find_missing_packages(node: BaseComponent, plan: StepPlan) -> list[str]:
    """The first of the packages that the step itself imports and that is not there."""
    if plan.needs.python:
        return []
    needed = [*node.PACKAGES, *(["tensorflow_estimator"] if plan.needs.estimators else [])]
    missing = [name for name in needed if not is_importable(name)]
    return [find_package(name).describe(name) for name in missing[:1]]


def _find_problems_of_code(node: BaseComponent, plan: StepPlan) -> Iterator[str]:
    functions = node.FUNCTIONS if isinstance(node, UserCodeComponent) else ()
    dotted = [name for name in functions if plan.parameters.get(name)]
    if not plan.user_file:
        for name in dotted:
            if not is_importable(plan.parameters[name].partition(".")[0]):
                yield f"there is no module for {name}={plan.parameters[name]!r}."
    elif not plan.needs.python and (os.path.exists(plan.user_file) or _reads_what_is_there(node)):
        yield from find_problems(plan.user_file, () if dotted else functions, plan.import_paths)


def _find_lacks_of_code(
    node: BaseComponent, plan: StepPlan, launcher: Launcher
) -> Iterator[Problem]:
    """Servers and variables that the code asks for in vain."""
    if not plan.user_file or plan.needs.python:
        return
    trees = scan(plan.user_file, plan.import_paths).trees
    functions = node.FUNCTIONS if isinstance(node, UserCodeComponent) else ()
    sure = find_sure_nodes(trees.values(), functions)
    for path, tree in trees.items():
        for call, found in DownloadReader(tree, path).find_all():
            try:
                if found.server:
                    require_server(found.server)
            except PlaceError as error:
                text = f"{readable_path(path)}, line {found.line}: {error} {found.message}"
                yield Problem(text=text, is_certain=call in sure and not found.goes_on)
    if not isinstance(launcher, Processes):  # other machines have other variables
        return
    variables = VariableReader(trees.values())
    for path, tree in trees.items():
        for one in ast.walk(tree):
            if not isinstance(one, ast.Subscript) or one not in sure:
                continue
            if lack := variables.find_lack(one):
                text = f"{readable_path(path)}, line {one.lineno}: {lack}"
                yield Problem(text=text, is_certain=False)  # a library may set it


def _find_missing_files(node: BaseComponent, plan: StepPlan) -> Iterator[Problem]:
    for key, path in plan.parameters.items():
        is_file = key.endswith("_file") and node.spec.PARAMETERS[key].names_file
        if is_file and path and path != plan.user_file and not fileio.exists(path):
            yield Problem(text=f"there is no file {path}. Check {key}.")


def _is_ours(node: BaseComponent) -> bool:
    return node.executor_spec.class_path.startswith("stoker.")


def _reads_what_is_there(node: Node) -> bool:
    """Whether no step before it is the user's own, which may make what it reads."""
    before = list(node.upstream_nodes)
    for one in before:
        before += [other for other in one.upstream_nodes if other not in before]
    return all(not isinstance(one, BaseComponent) or _is_ours(one) for one in before)
