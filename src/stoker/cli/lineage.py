# SPDX-License-Identifier: Apache-2.0
"""`stoker lineage`: what an artifact was made from, or what was made from it, as a tree."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import click

from stoker.cli.lookup import find_artifact
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.records import MADE, USED, Lineage
from stoker.metadata.store import Store
from stoker.views.table import readable_path

_Branch: TypeAlias = tuple[str, list["_Branch"]]
"""One line of the tree, and what hangs below it."""


@click.command()
@click.argument("artifact")
@click.option("--down", is_flag=True, help="Show what was made from it instead.")
@json_option
@with_store(by="artifact")
def lineage(store: Store, artifact: str, down: bool, as_json: bool) -> int:
    """Show what an ARTIFACT, given by its id or path, was made from, as a tree."""
    start = find_artifact(store, artifact)
    found = store.lineage(start.id, "downstream" if down else "upstream")
    text, below = _tree(found, start.id, down=down)
    print_answer(_record(found), text, *_draw(below, ""), as_json=as_json)
    return 0


def _record(found: Lineage) -> dict[str, Any]:
    return {
        "artifacts": [
            {
                "id": artifact.id,
                "type": artifact.type_name,
                "uri": artifact.uri,
                "state": artifact.state.name,
            }
            for artifact in found.artifacts
        ],
        "executions": [
            {
                "id": execution.id,
                "node": execution.node_id,
                "run": execution.run_id,
                "state": execution.state.name,
            }
            for execution in found.executions
        ],
        "links": [
            {
                "artifact": event.artifact_id,
                "execution": event.execution_id,
                "key": key,
                "as": "input" if event.type in USED else "output",
            }
            for event in found.events
            for key, _ in event.places()
        ],
    }


def _tree(found: Lineage, start: int, *, down: bool) -> _Branch:
    """A lineage from one artifact on; what was drawn before is not drawn again."""
    to, beyond = (USED, MADE) if down else (MADE, USED)
    artifacts = {artifact.id: artifact for artifact in found.artifacts}
    nodes = {execution.id: execution.node_id for execution in found.executions}
    drawn: set[tuple[str, int]] = set()

    def branch(kind: str, id_: int, text: str, below: Iterator[_Branch]) -> _Branch:
        if (kind, id_) in drawn:
            return f"{text}  (see above)", []
        drawn.add((kind, id_))
        return text, list(below)

    def artifact(id_: int, key: str) -> _Branch:
        one = artifacts[id_]
        named = f"{key}: " if key else ""
        text = f"{named}{one.type_name} {id_}  {readable_path(one.uri)}"
        events = [event for event in found.events if event.artifact_id == id_ and event.type in to]
        steps = dict.fromkeys(event.execution_id for event in events)
        return branch("artifact", id_, text, map(step, steps)) if steps else (text, [])

    def step(id_: int) -> _Branch:
        below = (
            artifact(event.artifact_id, key)
            for event in found.events
            if event.execution_id == id_ and event.type in beyond
            for key, _ in event.places()
        )
        return branch("execution", id_, f"{nodes[id_]}, execution {id_}", below)

    return artifact(start, "")


def _draw(branches: list[_Branch], indent: str) -> Iterator[str]:
    for position, (text, below) in enumerate(branches, start=1):
        last = position == len(branches)
        yield f"{indent}{'└─' if last else '├─'} {text}"
        yield from _draw(below, indent + ("   " if last else "│  "))
