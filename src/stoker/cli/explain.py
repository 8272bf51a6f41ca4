# SPDX-License-Identifier: Apache-2.0
"""`stoker explain`: why the last run of a step used an older result, or did not."""

import click

from stoker.cli.lookup import find_execution, list_steps, step_state, unknown_node
from stoker.cli.options import complete, json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.records import SKIPPED
from stoker.metadata.store import Store
from stoker.views.table import Table


@click.command()
@click.argument("node", metavar="STEP", shell_complete=complete(list_steps))
@click.option("--parts", is_flag=True, help="Print the parts of the cache key, too.")
@json_option
@with_store(by="node")
def explain(store: Store, node: str, parts: bool, as_json: bool) -> int:
    """Explain why the last run of a STEP used an older result, or did not."""
    execution = find_execution(store, node)
    if execution is None:
        raise unknown_node(store, node)
    explanation = str(execution.properties.get("cache_explanation", ""))
    key_parts = execution.properties.get("cache_parts")
    digests = key_parts if isinstance(key_parts, dict) else {}
    state = step_state(store, execution)
    record = {
        "node": node,
        "execution": execution.id,
        "run": execution.run_id,
        "state": state,
        "explanation": explanation,
        "parts": digests,
    }
    never = "steps of this kind are never cached"
    why = execution.properties.get(SKIPPED) or explanation or never
    line = f"{node} ({state}, execution {execution.id}): {why}"
    rows = [(name, str(digest)) for name, digest in sorted(digests.items())]
    tables = [Table(columns=("part", "digest"), rows=rows)] if parts else []
    print_answer(record, line, *tables, as_json=as_json)
    return 0
