# SPDX-License-Identifier: Apache-2.0
"""`stoker run`: a pipeline file, run as Python would run it."""

import os
import runpy
import sys
import traceback
from collections.abc import Sequence, Sized
from types import TracebackType

import click

import stoker.stand_ins.provide  # noqa: F401 - a file may name what `import tfx` gives back before it
from stoker.any_python.failures import WHOLE_TRACEBACK, is_all_wanted
from stoker.any_python.lines import did_you_mean
from stoker.any_python.modules import package_of, put_first_on_sys_path
from stoker.cli.lookup import list_steps
from stoker.cli.options import complete, fresh_option, parameter_option
from stoker.cli.printing import print_line
from stoker.errors import StokerError
from stoker.launchers import Launcher
from stoker.metadata.config import STORE_VARIABLE, use_store
from stoker.runner import intercept
from stoker.runner.plan import RunOptions
from stoker.user_code.installed_names import missing_name_hint
from stoker.user_code.known_packages import missing_package_hint
from stoker.views.users_errors import describe_users_error

on_option = click.option(
    "--on",
    "where",
    type=click.Choice(["processes", "ray", "pods"]),
    help="Where the steps run, whatever the file says: on this machine, on a Ray cluster, or, in a "
    "pod of Kubernetes, with a pod for each worker of a training.",
)
address_option = click.option(
    "--address",
    metavar="HOST:PORT",
    help="The Ray cluster; else that of RAY_ADDRESS, or one on this machine for this run.",
)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@parameter_option("The value of a RuntimeParameter; may be given several times.")
@click.option(
    "--force",
    multiple=True,
    metavar="STEP",
    shell_complete=complete(list_steps),
    help="Run this step even if nothing changed; may be given several times.",
)
@click.option(
    "--done",
    multiple=True,
    metavar="STEP",
    shell_complete=complete(list_steps),
    help="The work of this ManualNode is done; may be given several times.",
)
@fresh_option
@on_option
@address_option
@click.option(
    "--store",
    metavar="FILE|URL",
    help=f"Where the run is recorded, whatever the file says.  [default: {STORE_VARIABLE}]",
)
@click.option(
    "--report",
    is_flag=True,
    help="Write a page about the run into its root at the end, also if it fails.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run up to N steps at the same time; 1 for one after the other.  [default: processors]",
)
@click.option(
    "--profile",
    is_flag=True,
    help="Tell at the end where the time went: imports, waiting, work, checks, publishing.",
)
@click.option(
    "--debug",
    is_flag=True,
    help="Run every step in this process, so that breakpoint() in a module works.",
)
@click.option(
    "--verbose",
    is_flag=True,
    help="Show tracebacks whole, with the frames of TensorFlow, Keras and Stoker.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    file: str,
    parameters: dict[str, str],
    force: tuple[str, ...],
    done: tuple[str, ...],
    fresh: bool,
    where: str | None,
    address: str | None,
    store: str | None,
    report: bool,
    parallel: int | None,
    profile: bool,
    debug: bool,
    verbose: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run a pipeline FILE.

    ARGUMENTS that are not listed below are the file's own; put -- before those that are.
    """
    if verbose:
        os.environ[WHOLE_TRACEBACK] = "1"
    use_store(store)
    launcher = choose_launcher(where, address, debug=debug)
    _tell_of_misspelled(arguments)
    options = RunOptions(
        parameters=parameters,
        force=force,
        fresh=fresh,
        done=done,
        report=report,
        parallel=parallel,
        profile=profile,
    )
    with intercept(options, launcher) as runs:
        return run_as_main(file, arguments, runs)


def _tell_of_misspelled(arguments: Sequence[str]) -> None:
    """Say of what goes to the file that it looks like an option of ours."""
    ours = [name for option in run.params for name in option.opts if name.startswith("--")]
    for name in (one.partition("=")[0] for one in arguments if one.startswith("--")):
        if hint := did_you_mean(name, ours, closeness=0.8):
            line = f"{name} is given to the file: stoker run has no such option.{hint}"
            print_line(line, error=True)


def choose_launcher(
    where: str | None, address: str | None, *, debug: bool = False
) -> Launcher | None:
    """The launcher that the options ask for; None where that is for the file to say."""
    if debug and where:
        raise click.UsageError("--debug runs the steps in this process: leave --on out.")
    if debug:
        from stoker.launchers.in_process import InProcess  # loads all that a worker does

        return InProcess()
    if address and where != "ray":
        raise click.UsageError("--address is that of a Ray cluster: use it with --on ray.")
    if where == "ray":
        from stoker.launchers.on_ray import OnRay

        return OnRay(address)
    if where == "pods":
        from stoker.launchers.on_pods import OnPods

        return OnPods()
    if where:
        from stoker.launchers.processes import Processes

        return Processes()
    return None


def run_as_main(file: str, arguments: Sequence[str], pipelines: Sized) -> int:
    """Run a pipeline file as Python would; gives the exit code that it left with.

    It should fill `pipelines`: a file that runs none is an error. One in a package finds the
    package too, as with `python -m`.
    """
    path = os.path.abspath(file)
    sys.argv = [path, *arguments]
    put_first_on_sys_path(os.path.dirname(path), package_of(path)[0])
    code = _run(path, file)
    if not pipelines and not code:
        raise ValueError(
            f"{file} ran no pipeline. It should call LocalDagRunner().run(pipeline), under "
            'if __name__ == "__main__": or in the function that it calls there.'
        )
    return code


def _run(path: str, shown: str) -> int:
    """The exit code that the file left with; what it raised is told as the file's own error."""
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as left:  # as absl's app.run does, whatever happened
        if isinstance(left.code, str):
            raise ValueError(left.code) from left
        return left.code or 0
    except Exception as error:  # whatever the user's own file does
        if is_all_wanted():
            print_line(traceback.format_exc(), error=True)
        if said := describe_users_error(error):
            raise ValueError(said) from error
        if isinstance(error, StokerError):
            raise
        own = _from_file_on(error.__traceback__, path)
        print_line("".join(traceback.format_exception(type(error), error, own)), error=True)
        hint = missing_package_hint(error) or missing_name_hint(error)
        failed = f"{shown} failed: {type(error).__name__}: {error}"
        raise ValueError(f"{failed}. {hint}" if hint else failed) from error
    return 0


def _from_file_on(frames: TracebackType | None, path: str) -> TracebackType | None:
    """A traceback without the frames that lead to the user's file."""
    while frames and frames.tb_frame.f_code.co_filename != path:
        frames = frames.tb_next
    return frames
