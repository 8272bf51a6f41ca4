# SPDX-License-Identifier: Apache-2.0
"""`tfx pipeline`: files that run pipelines, known by the names of those."""

import os
import shutil

import click

from stoker.any_python.layout import only_file
from stoker.artifacts import Artifact, Schema
from stoker.cli.printing import print_line
from stoker.cli.run import run_as_main
from stoker.cli.tfx_command.created import Created, find_created, get_created, list_created
from stoker.cli.tfx_command.options import takes_engine, takes_name, takes_path
from stoker.cli.tfx_command.run import run
from stoker.runner import collect_pipelines


@click.group()
def pipeline() -> None:
    """Create, update, compile, list and delete pipelines."""


@pipeline.command()
@takes_path
@takes_engine
def create(pipeline_path: str) -> int:
    """Know a pipeline by its name from now on."""
    for one in _declare(pipeline_path):
        if find_created(one.pipeline_name):
            raise ValueError(
                f"The pipeline {one.pipeline_name!r} was created already. "
                f"To change it: tfx pipeline update --pipeline_path={pipeline_path}"
            )
        one.save()
        print_line(f'Pipeline "{one.pipeline_name}" created successfully.')
    return 0


@pipeline.command()
@takes_path
@takes_engine
def update(pipeline_path: str) -> int:
    """Take a pipeline's file anew."""
    for one in _declare(pipeline_path):
        get_created(one.pipeline_name)
        one.save()
        print_line(f'Pipeline "{one.pipeline_name}" updated successfully.')
    return 0


@pipeline.command("compile")
@takes_path
@takes_engine
def compile_(pipeline_path: str) -> int:
    """Declare the pipeline of a file, and run nothing."""
    _declare(pipeline_path)
    print_line("Pipeline compiled successfully.")
    return 0


@pipeline.command("list")
@takes_engine
def list_() -> int:
    """List the pipelines that were created."""
    print_line("\n".join(list_created()) or "No pipelines to display.")
    return 0


@pipeline.command()
@takes_name
@takes_engine
def delete(pipeline_name: str) -> int:
    """Forget a pipeline; its files, and what its runs made, stay."""
    known = get_created(pipeline_name)
    known.remove()
    print_line(
        f'Pipeline "{pipeline_name}" deleted successfully. What it made is in '
        f"{known.pipeline_root} still."
    )
    return 0


pipeline.add_command(run.commands["create"], "run")


@pipeline.command()
@takes_name
@takes_engine
def schema(pipeline_name: str) -> int:
    """Copy the newest schema that a pipeline has inferred to ./schema.pbtxt."""
    path = only_file(_find_schema(get_created(pipeline_name)).uri)
    target = os.path.abspath("schema.pbtxt")
    shutil.copyfile(path, target)
    with open(target, encoding="utf-8") as file:
        print_line(f"Path to schema: {target}\n{file.read()}")
    return 0


def _declare(path: str) -> list[Created]:
    with collect_pipelines() as pipelines:
        if code := run_as_main(path, (), pipelines):
            raise ValueError(f"{path} left with exit code {code}. Run it with python to see why.")
    return [Created.of(one, path) for one in pipelines]


def _find_schema(known: Created) -> Artifact:
    with known.open_store() as store:
        found = store.artifacts(
            type_name=str(Schema.TYPE_NAME),
            pipeline_name=known.pipeline_name,
            output_key="schema",
        )
    if not found:
        raise ValueError(
            f"No run of {known.pipeline_name!r} has published a schema. Add a SchemaGen to it, or "
            "wait until it has run."
        )
    return found[-1]
