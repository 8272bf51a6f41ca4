# SPDX-License-Identifier: Apache-2.0
"""Where `tfx …` starts. A TFX that is installed answers itself."""

import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

import click

from stoker.cli.app import run_command
from stoker.cli.tfx_command.pipeline import pipeline
from stoker.cli.tfx_command.run import run
from stoker.cli.tfx_command.template import template

_TFX = ("tfx", "tfx-dev")
"""The names under which pip knows TFX."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def tfx() -> None:
    """Start, register and run pipelines on this machine, as TFX's command does."""


for group in (template, pipeline, run):
    tfx.add_command(group)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command, and leave with its exit code."""
    command = _find_command_of_tfx()
    if command is not None:
        command()
        return
    run_command(tfx, "tfx", argv)


def _find_command_of_tfx() -> Callable[[], Any] | None:
    """The command of a TFX in this environment, whose place ours may have taken."""
    for name in _TFX:
        for distribution in importlib.metadata.distributions(name=name):
            for script in distribution.entry_points.select(group="console_scripts", name="tfx"):
                loaded: Callable[[], Any] = script.load()
                return loaded
    return None
