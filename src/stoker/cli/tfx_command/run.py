# SPDX-License-Identifier: Apache-2.0
"""`tfx run`: the runs of pipelines that were created."""

import click

from stoker.cli.lookup import find_run
from stoker.cli.options import names_and_values
from stoker.cli.printing import print_line
from stoker.cli.run import run_as_main
from stoker.cli.runs import print_runs
from stoker.cli.tfx_command.created import get_created
from stoker.cli.tfx_command.options import option, takes_engine, takes_name, takes_run_id
from stoker.runner import intercept
from stoker.runner.plan import RunOptions


@click.group()
def run() -> None:
    """Run pipelines, and look at their runs."""


@run.command()
@takes_name
@option(
    "runtime_parameter",
    multiple=True,
    metavar="NAME=VALUE",
    callback=names_and_values,
    help="The value of a RuntimeParameter; may be given several times.",
)
@takes_engine
def create(pipeline_name: str, runtime_parameter: dict[str, str]) -> int:
    """Run a pipeline."""
    known = get_created(pipeline_name)
    print_line(f"Creating a run for pipeline: {pipeline_name}")
    with intercept(RunOptions(parameters=runtime_parameter)) as runs:
        return run_as_main(known.pipeline_dsl_path, (), runs)


@run.command("list")
@takes_name
@takes_engine
def list_(pipeline_name: str) -> int:
    """List the runs of a pipeline, newest first."""
    with get_created(pipeline_name).open_store() as store:
        print_runs(store.runs(pipeline_name))
    return 0


@run.command()
@takes_name
@takes_run_id
@takes_engine
def status(pipeline_name: str, run_id: str) -> int:
    """Say how a run of a pipeline stands."""
    with get_created(pipeline_name).open_store() as store:
        found = find_run(store, run_id)
        if found is None or found.pipeline_name != pipeline_name:
            raise ValueError(
                f"{pipeline_name!r} has no run {run_id!r}. "
                f"See tfx run list --pipeline_name={pipeline_name}"
            )
        print_runs([found])
    return 0


@run.command()
@takes_run_id
@takes_engine
def terminate(run_id: str) -> int:
    """Say how to stop a run."""
    raise ValueError(
        f"A local run ends with its process: press Ctrl-C where {run_id} runs. The next run goes "
        "on where it was."
    )


@run.command()
@takes_run_id
@takes_engine
def delete(run_id: str) -> int:
    """Say how to remove what runs have made."""
    raise ValueError(
        f"{run_id} is not deleted, since later runs may use what it made. `stoker clean` removes "
        "what failed runs left; to remove all, delete the pipeline root."
    )
