# SPDX-License-Identifier: Apache-2.0
"""`stoker check`: what of a project for TFX runs here, read from its text alone."""

import ast
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import click

from stoker.cli.checking.findings import USER_FUNCTIONS, Finding, State, check_source
from stoker.cli.checking.sources import Source, collect_sources
from stoker.cli.options import json_option
from stoker.cli.printing import print_answer
from stoker.task import ProcessNeeds
from stoker.user_code.imports import scan
from stoker.user_code.keras_choice import choose_keras, users_environ
from stoker.views.table import Table


@click.command()
@click.argument("path", type=click.Path(exists=True))
@json_option
def check(path: str, as_json: bool) -> int:
    """Tell what of a project for TFX runs, before anything is run.

    PATH is a pipeline, a module, a notebook or a folder of them. The files that it imports and the
    modules that it names, or that a notebook's cells write, are read too; nothing of it is
    imported. The exit code is 0 if it would run.

    \b
    runs     is here
    differs  does something else than in TFX, on purpose
    needs    wants a package, an environment of `stoker env` or a file
    refused  is not here; the line says what to do instead
    """
    with tempfile.TemporaryDirectory() as scratch:
        sources = collect_sources(path, scratch)
        keras = {
            source.shown: choose_keras(
                source.path, environ=users_environ(), import_paths=source.import_paths
            )
            for source in sources
            if _has_user_function(source)
        }
        findings = [
            finding
            for source in sources
            for finding in (*_describe_keras(source, keras), *check_source(source))
        ]
    would_run = not any(finding.blocks for finding in _leave_out_bystanders(findings, sources))
    record = {
        "would_run": would_run,
        "files": [source.shown for source in sources],
        "findings": [asdict(finding) for finding in findings],
        "keras": {
            name: {"version": needs.keras, "reason": needs.reason} for name, needs in keras.items()
        },
    }
    rows = [(one.state, one.where, one.message) for one in findings]
    table = Table(columns=("state", "where", "what"), rows=rows)
    verdict = "It would run." if would_run else "It would not run: see `needs` and `refused`."
    if would_run and any(finding.state is State.REFUSED for finding in findings):
        verdict = "It would run, unless it comes to a line with `refused`."
    print_answer(record, table, f"Files read: {len(sources)}. {verdict}", as_json=as_json)
    return 0 if would_run else 1


def _has_user_function(source: Source) -> bool:
    tree = scan(source.path, source.import_paths).trees.get(source.path)
    return tree is not None and any(
        isinstance(node, ast.FunctionDef) and node.name in USER_FUNCTIONS for node in tree.body
    )


def _describe_keras(source: Source, keras: Mapping[str, ProcessNeeds]) -> Iterator[Finding]:
    if needs := keras.get(source.shown):
        named = f"Keras {needs.keras}" if needs.keras else "no Keras"
        message = f"{named}, because {needs.reason}"
        yield Finding(state=State.RUNS, file=source.shown, message=message)


def _leave_out_bystanders(
    findings: Sequence[Finding], sources: Sequence[Source]
) -> Sequence[Finding]:
    """What counts: of the files that no other one reaches, not all are the pipeline's.

    TFX's templates have local_runner.py and kubeflow_runner.py side by side, and projects have
    programs that ask the served model.
    """
    reached = {path for source in sources for path in source.reaches}
    starts = {source.shown for source in sources if source.path not in reached}
    of_pipelines = {one.file for one in findings if one.state is State.RUNS}
    elsewhere = {one.file for one in findings if one.is_of_other_runners and one.blocks}
    bystanders = {file for file in starts if file in elsewhere or file not in of_pipelines}
    if starts <= bystanders:
        return findings
    return [one for one in findings if one.file not in bystanders]
