# SPDX-License-Identifier: Apache-2.0
"""`stoker explain`: why the last run of a step used an older result, or did not."""

import click

from stoker.cli.lookup import find_execution, unknown_node
from stoker.cli.options import json_option
from stoker.cli.printing import Table, print_json, print_table
from stoker.cli.stores import with_store
from stoker.metadata.records import SKIPPED
from stoker.metadata.store import Store


@click.command()
@click.argument("node")
@click.option("--parts", is_flag=True, help="Print the parts of the cache key, too.")
@json_option
@with_store
def explain(store: Store, node: str, parts: bool, as_json: bool) -> int:
    """Explain why the last run of a step, NODE, used an older result, or did not."""
    execution = find_execution(store, node)
    if execution is None:
        raise unknown_node(store, node)
    explanation = str(execution.properties.get("cache_explanation", ""))
    key_parts = execution.properties.get("cache_parts")
    digests = key_parts if isinstance(key_parts, dict) else {}
    state = execution.standing
    if as_json:
        print_json(
            {
                "node": node,
                "execution": execution.id,
                "run": execution.run_id,
                "state": state,
                "explanation": explanation,
                "parts": digests,
            }
        )
        return 0
    never = "steps of this kind are never cached"
    why = execution.properties.get(SKIPPED) or explanation or never
    click.echo(f"{node} ({state}, execution {execution.id}): {why}")
    if parts:
        rows = [(name, str(digest)) for name, digest in sorted(digests.items())]
        print_table(Table(columns=("part", "digest"), rows=rows))
    return 0
