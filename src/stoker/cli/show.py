# SPDX-License-Identifier: Apache-2.0
"""`stoker show`: a run, a step or an artifact, as far as the store and the files can tell."""

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact, Model, ModelRun
from stoker.cli.lookup import (
    find_artifact,
    find_execution,
    find_maker,
    find_run,
    list_runs,
    list_steps,
    root_of_run,
    run_state,
    step_state,
    unknown_node,
)
from stoker.cli.metrics import find_metrics, read_metrics
from stoker.cli.options import complete, json_option, with_store
from stoker.cli.printing import print_answer, print_line, readable_duration, readable_time
from stoker.errors import BadData
from stoker.metadata.masking import mask_secrets
from stoker.metadata.queries import WRITTEN
from stoker.metadata.records import OWN_PROPERTIES, SKIPPED, Execution, PipelineRun
from stoker.metadata.store import Store
from stoker.storage.digests import Manifest
from stoker.storage.files import show_path
from stoker.storage.root import manifest_file
from stoker.views.artifact_views import html_page, preview
from stoker.views.last_metrics import MEASURED, describe_metrics
from stoker.views.model_tables import REPORTS, SIGNATURES, formats_tables
from stoker.views.table import Table, one_line, readable_path, readable_size

_Answer: TypeAlias = tuple[Any, Sequence[Table | Mapping[str, str] | str]]
"""What is printed as JSON, and the parts of what is printed as text."""


@click.command()
@click.argument(
    "what",
    metavar="RUN|ARTIFACT|STEP",
    shell_complete=complete(lambda store: ["last", *list_steps(store), *list_runs(store)]),
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write an HTML page with charts to this file, for an artifact.",
)
@json_option
@with_store(by="what")
def show(store: Store, what: str, page: str | None, as_json: bool) -> int:
    """Show a run, a step or an artifact.

    Give a RUN by its id, the first characters of its id, or `last`; an ARTIFACT by its id or path;
    a STEP by its name, to see its last execution.
    """
    if page:
        artifact = find_artifact(store, what)
        Path(page).write_text(html_page(artifact), encoding="utf-8")
        print_line(f"{page} shows {artifact.type_name} {artifact.id}.")
        return 0
    record, parts = _describe(store, what)
    print_answer(record, *parts, as_json=as_json)
    return 0


def _describe(store: Store, what: str) -> _Answer:
    if what.isdecimal():
        return _describe_artifact(store, find_artifact(store, what))
    if execution := find_execution(store, what):
        return _describe_execution(store, execution)
    if run := find_run(store, what):
        return _describe_run(store, run)
    if is_remote(what) or os.path.exists(what):
        return _describe_artifact(store, find_artifact(store, what))
    raise unknown_node(store, what)


def _describe_run(store: Store, run: PipelineRun) -> _Answer:
    executions = store.executions(run_id=run.run_id, only=[SKIPPED])
    outputs = store.outputs_of_run(run.run_id)
    steps = [
        {**_step(store, execution), "outputs": _references(outputs.get(execution.id, {}))}
        for execution in executions
    ]
    facts = {
        "run": run.run_id,
        "pipeline": run.pipeline_name,
        "state": run_state(run),
        "started": readable_time(run.created_ms),
        "root": root_of_run(store, run),
    }
    metrics = find_metrics(store, [run.run_id])[run.run_id]
    for step in steps:
        step["metrics"] = metrics.get(step["node"], {})
    rows = [row for step in steps for row in _step_rows(step)]
    parts: list[Table | str] = ["", Table(columns=("step", "state", "took", "outputs"), rows=rows)]
    if metrics:
        told = [(node, describe_metrics(few, most=len(few))) for node, few in metrics.items()]
        parts += ["", Table(columns=("step", "last metrics"), rows=told)]
    shown = {**facts, "root": readable_path(facts["root"])}
    return {**facts, "steps": steps, "metrics": metrics}, [shown, *parts]


def _step_rows(step: dict[str, Any]) -> list[tuple[str, ...]]:
    """A step with its first output, and a row for each further one."""
    first, *more = _reference_lines(step["outputs"]) or [""]
    facts = (str(step["node"]), str(step["state"]), readable_duration(step["took_ms"]))
    return [(*facts, first), *(("", "", "", line) for line in more)]


def _step(store: Store, execution: Execution) -> dict[str, Any]:
    return {
        "node": execution.node_id,
        "execution": execution.id,
        "state": step_state(store, execution),
        "started_ms": execution.created_ms,
        "took_ms": execution.updated_ms - execution.created_ms,
    }


def _references(artifacts: dict[str, list[Artifact]]) -> dict[str, list[dict[str, Any]]]:
    return {
        key: [
            {"id": artifact.id, "type": artifact.type_name, "uri": artifact.uri}
            for artifact in many
        ]
        for key, many in artifacts.items()
    }


def _reference_lines(references: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [
        f"{key}: {artifact['type']} {artifact['id']}  {readable_path(artifact['uri'])}"
        for key, many in references.items()
        for artifact in many
    ]


def _describe_execution(store: Store, execution: Execution) -> _Answer:
    measured = _find_measured(store, execution)
    parameters = {
        name: value for name, value in execution.properties.items() if name not in OWN_PROPERTIES
    }
    record = {
        **_step(store, execution),
        "pipeline": execution.pipeline_name,
        "run": execution.run_id,
        "type": execution.type_name,
        "parameters": mask_secrets(parameters),
        "inputs": _references(store.inputs(execution.id)),
        "outputs": _references(store.outputs(execution.id)),
        "metrics": read_metrics(*measured),
        "error": execution.error,
    }
    facts = {
        "step": execution.node_id,
        "state": f"{record['state']} in {readable_duration(record['took_ms'])}",
        "started": readable_time(execution.created_ms),
        "pipeline": execution.pipeline_name,
        "run": execution.run_id,
        "execution": str(execution.id),
        "inputs": "\n".join(_reference_lines(record["inputs"])),
        "outputs": "\n".join(_reference_lines(record["outputs"])),
        "parameters": "\n".join(f"{k} = {one_line(v)}" for k, v in record["parameters"].items()),
        "error": execution.error,
        "tensorboard": _advise_tensorboard(measured, execution.node_id),
    }
    tables: list[Table] = []
    for one in measured:
        with contextlib.suppress(BadData):  # it is being written, or `stoker verify` is about it
            tables += preview(one)
    return record, [facts, *(part for table in tables for part in ("", table))]


def _find_measured(store: Store, execution: Execution) -> list[Artifact]:
    """What has the metrics of a step, if it trains or evaluates: also while it runs."""
    found = store.artifacts_by_key(execution.id, WRITTEN)
    return [one for many in found.values() for one in many if one.type_name in MEASURED]


def _advise_tensorboard(measured: Sequence[Artifact], node_id: str) -> str:
    is_watched = any(isinstance(one, ModelRun) and os.path.isdir(one.uri) for one in measured)
    return f"stoker tensorboard {shlex.quote(node_id)}" if is_watched else ""


def _describe_artifact(store: Store, artifact: Artifact) -> _Answer:
    maker = find_maker(store, artifact)
    properties = mask_secrets({**artifact.properties, **artifact.custom_properties})
    files = _files(artifact)
    tables = [*preview(artifact), *_formats(store, artifact)]
    record = {
        "id": artifact.id,
        "type": artifact.type_name,
        "uri": artifact.uri,
        "state": artifact.state.name.lower(),
        "made_by": maker and _step(store, maker),
        "properties": properties,
        "files": files,
        "preview": [table.to_record() for table in tables],
    }
    facts = {
        "artifact": str(artifact.id),
        "type": artifact.type_name,
        "state": artifact.state.name.lower(),
        "uri": readable_path(artifact.uri),
        "made by": f"{maker.node_id}, execution {maker.id}, run {maker.run_id}" if maker else "",
        "properties": "\n".join(
            f"{name} = {one_line(value)}"
            for name, value in properties.items()
            if name not in (SIGNATURES, REPORTS)  # which are shown as tables
        ),
    }
    if files:
        rows = [(str(file["path"]), readable_size(file["size"])) for file in files]
        tables = [Table(columns=("file", "size"), rows=rows), *tables]
    return record, [facts, *(part for table in tables for part in ("", table))]


def _formats(store: Store, artifact: Artifact) -> list[Table]:
    """The other formats of a model, in its own folder or in models made from it."""
    if not isinstance(artifact, Model):
        return []
    made = store.lineage(artifact.id, "downstream").artifacts
    others = [other for other in made if isinstance(other, Model) and other.id != artifact.id]
    return formats_tables([artifact, *others])


def _files(artifact: Artifact) -> list[dict[str, Any]]:
    """The files as they were published; none for an artifact that was not sealed."""
    path = manifest_file(artifact.uri)
    if not os.path.exists(path):
        return []
    return [{"path": show_path(file.path), "size": file.size} for file in Manifest.read(path).files]
