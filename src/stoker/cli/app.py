# SPDX-License-Identifier: Apache-2.0
"""Where `stoker …` starts: the list of commands, and how each ending becomes an exit code."""

import atexit
import contextlib
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from stoker.any_python.lines import did_you_mean
from stoker.errors import StokerError

# A command is the function of its name in the module of its name, loaded when it is used.
COMMANDS = {
    "run": "Run a pipeline file.",
    "plan": "List the steps of a pipeline file, and the commands that run them.",
    "step": "Run one step of a pipeline file, as an orchestrator does.",
    "train": "Train a model from a module and data, without a pipeline file.",
    "runs": "List runs.",
    "show": "Show a run, a step or an artifact.",
    "compare": "Show what differs between runs.",
    "report": "Write a run as one HTML file.",
    "ui": "Show runs, models and data in a browser.",
    "logs": "Print what a step printed; -f follows it.",
    "tensorboard": "Open TensorBoard on the trainings of the newest runs.",
    "explain": "Explain why a step was run again, or was not.",
    "lineage": "Show what an artifact was made from, as a tree.",
    "rewrite": "Convert a model to other formats.",
    "check": "Check that a pipeline or module file is supported, without running it.",
    "verify": "Check that published files are unchanged.",
    "copy": "Copy an artifact to a bucket or a folder.",
    "clean": "Remove files left behind by runs that failed or were killed.",
    "store": "Move a metadata store to a server, or bring an old one up to date.",
    "env": "Manage Python environments with other versions of TensorFlow.",
    "image": "Prepare a container image for the steps of a pipeline.",
    "doctor": "Check this machine and its Python.",
}
FAILED, WRONG_USAGE, STOPPED = 1, 2, 130
_PASSWORD = re.compile(r"(--store=)?(postgres|mysql|mariadb)[a-z+]*://[^/@:]*:[^/]+@")

_EPILOG = """\b
Exit codes:
  0    all is well
  1    the run failed, or the check found something
  2    the command was used wrongly
  3    `stoker step`: a condition leaves the step out
  130  stopped by Ctrl-C

\b
Shell completion of commands, options, steps, runs and pipelines:
  bash  eval "$(_STOKER_COMPLETE=bash_source stoker)"
  zsh   eval "$(_STOKER_COMPLETE=zsh_source stoker)"
  fish  _STOKER_COMPLETE=fish_source stoker | source
"""


class _Commands(click.Group):
    """The commands in COMMANDS; only the one that is used is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        with _keep_all():
            command: click.Command = getattr(import_module(f"stoker.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return found or click.Command.shell_complete(self, ctx, incomplete)


@contextlib.contextmanager
def _keep_all() -> Iterator[None]:
    """Look for no garbage among what is made inside: of imports, which stay, there is none.

    In a short command that search, again and again and at the end, is a fifth of the work.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="stoker", message="stoker %(version)s")
@click.option(
    "--store",
    metavar="FILE|URL",
    help="The metadata store of all that follows.  [default: STOKER_STORE]",
)
def stoker(store: str | None) -> None:
    """Train TensorFlow models with pipelines written for TFX."""
    if store:
        from stoker.metadata.config import use_store  # light commands do without it

        use_store(store)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command, and leave with its exit code."""
    if argv is None:
        _hide_password(sys.argv[1:])
    atexit.register(gc.freeze)
    run_command(stoker, "stoker", argv)


def _hide_password(arguments: Sequence[str]) -> None:
    """Start anew with a store's password in the environment: all users see command lines."""
    if not any(map(_PASSWORD.match, arguments)):
        return
    is_store, shown, secret = False, list[str](), ""
    for argument in arguments:
        option = argument == "--store"
        if (is_store or "store" in (*shown[:1], argument[2:7])) and _PASSWORD.match(argument):
            secret = argument.removeprefix("--store=")
            shown = shown[:-1] if is_store else shown
        else:
            shown.append(argument)
        is_store = option
    if secret:
        os.environ["STOKER_STORE"] = secret
        os.execv(sys.executable, [sys.executable, "-P", "-m", "stoker", *shown])


def run_command(group: click.Group, name: str, argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command of a group that a shell knows by `name`, and leave with its exit code."""
    try:
        code = group.main(args=argv, prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        _say(f"{name}: {error.format_message()}")
        if error.ctx:
            click.echo(f"See {error.ctx.command_path} --help.", err=True)
        code = WRONG_USAGE
    except click.Abort as aborted:
        if text := str(aborted.__cause__ or ""):
            _say(f"{name}: {text}")
        code = STOPPED
    except (StokerError, ValueError, OSError) as error:
        _say(f"{name}: {error}")
        code = FAILED
    sys.exit(code)


def _say(message: str) -> None:
    from stoker.cli.printing import print_line  # light commands do without it

    print_line(message, error=True)
