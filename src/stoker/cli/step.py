# SPDX-License-Identifier: Apache-2.0
"""`stoker step`: one step of a pipeline file, for whatever program starts the others."""

import os

import click

from stoker.any_python.layout import check_file_name
from stoker.any_python.lines import did_you_mean
from stoker.cli.options import fresh_option, names_and_values, parameter_option
from stoker.cli.run import address_option, choose_launcher, on_option, run_as_main
from stoker.runner.local_dag_runner import OneStep, StepEnded, intercept_for_step
from stoker.runner.plan import RunOptions

LEFT_OUT = 3


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("node")
@click.option(
    "--run-id",
    required=True,
    metavar="ID",
    help="The run that the step is part of; the first step to come begins it.",
)
@parameter_option("The value of a RuntimeParameter, the same for every step of a run.")
@click.option(
    "--pipeline",
    "pipeline_name",
    metavar="NAME",
    help="The pipeline that has the step, if the file runs several.",
)
@click.option("--done", is_flag=True, help="The work of this ManualNode is done.")
@click.option(
    "--param-env",
    "variables",
    multiple=True,
    metavar="NAME=VARIABLE",
    callback=names_and_values,
    help="A RuntimeParameter whose value is that of a variable of the environment.",
)
@click.option(
    "--no-retries",
    is_flag=True,
    help="Leave a failure's retries to the program that starts the step.",
)
@on_option
@address_option
@click.option(
    "--skip-ok",
    is_flag=True,
    help="Leave with 0, and not with 3, where a condition leaves the step out.",
)
@fresh_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def step(
    file: str,
    node: str,
    run_id: str,
    parameters: dict[str, str],
    pipeline_name: str | None,
    done: bool,
    variables: dict[str, str],
    no_retries: bool,
    where: str | None,
    address: str | None,
    skip_ok: bool,
    fresh: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run one step, NODE, of a pipeline FILE, after those before it; `stoker plan` lists them.

    \b
    It leaves with
      0    done, now or earlier in this run, or nothing had changed since another run
      1    it failed, or a step before it is not done in this run
      3    a condition leaves it out
      130  stopped by a signal; a training is saved, and goes on when it is started again
    """
    check_file_name(run_id, "The id of a run")
    if "@" in run_id:
        raise click.UsageError(f"--run-id takes no '@', got {run_id!r}.")
    asked = OneStep(node_id=node, run_id=run_id, pipeline_name=pipeline_name)
    options = RunOptions(
        parameters={**parameters, **_read_variables(variables)},
        fresh=fresh,
        done=(node,) if done else (),
        leaves_retries=no_retries,
    )
    with intercept_for_step(asked, options, choose_launcher(where, address)):
        try:
            code = run_as_main(file, arguments, asked.seen)
        except StepEnded:
            code = 0
    if asked.end is None and not code:
        raise click.UsageError(_describe_lack(asked, file))
    return LEFT_OUT if asked.end == "skipped" and not skip_ok else code


def _read_variables(variables: dict[str, str]) -> dict[str, str]:
    for name, variable in variables.items():
        if variable not in os.environ:
            raise click.UsageError(
                f"--param-env {name}={variable}: the environment has no {variable}. Set it."
            )
    return {name: os.environ[variable] for name, variable in variables.items()}


def _describe_lack(asked: OneStep, file: str) -> str:
    names = {pipeline.pipeline_name for pipeline in asked.seen}
    if asked.pipeline_name and asked.pipeline_name not in names:
        return (
            f"{file} runs no pipeline {asked.pipeline_name!r}; it runs {', '.join(sorted(names))}."
        )
    steps = [step.id for pipeline in asked.seen for step in pipeline.steps]
    near = did_you_mean(asked.node_id, steps)
    return f"{file} has no step {asked.node_id!r}; it has {', '.join(steps)}.{near}"
