# SPDX-License-Identifier: Apache-2.0
"""`stoker plan`: the steps of a pipeline file in their order, and the command that runs each."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from stoker.cli.options import json_option, parameter_option
from stoker.cli.printing import print_answer, print_line
from stoker.cli.run import run_as_main
from stoker.dsl.pipeline import Pipeline
from stoker.metadata.masking import mask_item
from stoker.runner import collect_pipelines
from stoker.runner.step_list import StepOutline, find_parameters, make_command, outline_steps, quote
from stoker.views.table import Table


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@parameter_option("A RuntimeParameter's value, to be in the commands; may be given several times.")
@json_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def plan(file: str, parameters: dict[str, str], as_json: bool, arguments: tuple[str, ...]) -> int:
    """List the steps of a pipeline FILE, in an order in which `stoker step` can run them.

    The file is executed, and the run that it starts is not run. A scheduler starts each step after
    those that it names, with one --run-id for all. ARGUMENTS are the file's own.
    """
    with collect_pipelines() as pipelines:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what the file prints is no answer
                code = run_as_main(file, arguments, pipelines)
        except ValueError as error:
            if not pipelines:
                raise
            # What it does after a run is for runs that have outputs.
            print_line(f"After its run was declared, {error}", error=True)
            code = 0
    several = len({one.pipeline_name for one in pipelines}) > 1
    given = [f"{name}={value}" for name, value in parameters.items()]
    plans = [_describe(one, file, several, given, arguments) for one in pipelines]
    tables = [_draw(one, record) for one, record in zip(pipelines, plans, strict=True)]
    print_answer(plans if several else plans[0], *tables, as_json=as_json)
    return code


def _describe(
    pipeline: Pipeline,
    file: str,
    several: bool,
    given: Sequence[str],
    arguments: Sequence[str],
) -> dict[str, Any]:
    def command(step: StepOutline) -> list[str]:
        name = pipeline.pipeline_name if several else None
        return make_command(
            file, step.id, parameters=given, pipeline_name=name, arguments=arguments
        )

    return {
        "pipeline": pipeline.pipeline_name,
        "root": str(pipeline.pipeline_root),
        "parameters": {
            name: {
                "type": one.ptype.__name__ if one.ptype else None,
                "default": mask_item(name, one.default),
            }
            for name, one in find_parameters(pipeline).items()
        },
        "steps": [{**one.to_record(), "command": command(one)} for one in outline_steps(pipeline)],
    }


def _draw(pipeline: Pipeline, record: dict[str, Any]) -> Table:
    rows = [
        [
            step["id"],
            ", ".join(step["after"]),
            " and ".join(step["conditions"]),
            quote(step["command"]),
        ]
        for step in record["steps"]
    ]
    columns = ["STEP", "AFTER", "ONLY IF", "COMMAND"]
    return Table(columns=columns, rows=rows, title=pipeline.pipeline_name)
