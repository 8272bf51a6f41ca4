# SPDX-License-Identifier: Apache-2.0
"""What no worker runs: Importer, Resolver, ManualNode, and steps that are taken from other runs."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stoker.artifacts import every
from stoker.components.importer import Importer
from stoker.components.manual_node import ManualNode
from stoker.components.resolver import Resolver
from stoker.dsl.component import Node
from stoker.dsl.parameters import substitute
from stoker.errors import StepFailed
from stoker.metadata.masking import mask_secrets
from stoker.metadata.records import SKIPPED, Execution
from stoker.runner.inputs import Round, find_damage

if TYPE_CHECKING:
    from stoker.runner.steps import Steps


def run_other(steps: "Steps", node: Importer | Resolver | ManualNode) -> None:
    """Do what such a node says, and record it."""
    match node:
        case Importer():
            _import(steps, node)
        case Resolver():
            _resolve(steps, node)
        case ManualNode():
            _wait_for_person(steps, node)


def _import(steps: "Steps", node: Importer) -> None:
    given = dict(steps.options.parameters)
    artifact = node.artifact(given)
    known = steps.store.artifacts(type_name=artifact.type_name, uri=artifact.uri)
    digest = artifact.custom_properties["content_digest"]
    same = [old for old in known if old.custom_properties.get("content_digest") == digest]
    parameters = mask_secrets(substitute(node.exec_properties, given))
    with steps.record(node, {}, parameters) as execution:
        if same and not node.reimport:
            execution.refer_to({node.output_key: same[-1:]})
        else:
            execution.adopt({node.output_key: [artifact]})


def _resolve(steps: "Steps", node: Resolver) -> None:
    candidates = {
        key: steps.find_in_store(channel, across_pipelines=node.across_pipelines)
        for key, channel in node.inputs.items()
    }
    found = node.resolve(candidates, steps.store)
    while damaged := {
        one.id: why for one in every(found) if (why := find_damage(one, by_digest=True))
    }:
        for why in damaged.values():
            steps.console.step(f"{node.id}: skipping a damaged artifact: {why}")
        candidates = {
            key: [one for one in many if one.id not in damaged] for key, many in candidates.items()
        }
        found = node.resolve(candidates, steps.store)
    if not any(found.values()):
        wanted = " and ".join(channel.type_name for channel in node.inputs.values())
        steps.console.step(f"{node.id}: no {wanted} yet; steps that read it run without")
    with steps.record(node, {}, mask_secrets(node.exec_properties)) as execution:
        execution.refer_to(found)


def _wait_for_person(steps: "Steps", node: ManualNode) -> None:
    with steps.record(node, {}, node.exec_properties):
        if node.id in steps.options.done:
            return
        steps.console.step(f"{node.id} waits for you: {node.description}")
        if sys.stdin and sys.stdin.isatty():
            steps.console.step('Type "yes" when it is done; anything else ends the run.')
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                return
        raise StepFailed(
            f"{node.id} is not done: {node.description} Then run the pipeline with "
            f"LocalDagRunner().run(pipeline, done=[{node.id!r}]) or stoker run --done "
            f"{node.id}; with enable_cache=True, the steps before it are not run again."
        )


def reuse(steps: "Steps", node: Node, executions: Sequence[Execution]) -> None:
    """Publish again what earlier executions of a step have published."""
    for number, execution in enumerate(executions):
        place = (number,) if node.loops else ()
        steps.rounds.now = Round(loops=node.loops, place=place)
        if execution.standing == SKIPPED:
            steps.skip(node, f"it was skipped in run {execution.run_id}")
            continue
        why = {"cache_explanation": f"partial run: the outputs of execution {execution.id}"}
        with steps.record(node, {}, why, how="taken from an earlier run") as record:
            record.reuse(execution.id)
    if all(execution.standing == SKIPPED for execution in executions):
        steps.rounds.skip_whole(node.id)
