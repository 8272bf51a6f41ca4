# SPDX-License-Identifier: Apache-2.0
"""The command line: `stoker run pipeline.py`."""

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from stoker.errors import StokerError
from stoker.runner import intercept

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; what it does not know it passes on to the pipeline file."""
    parser = argparse.ArgumentParser(
        prog="stoker", description="Train TensorFlow models with pipelines written for TFX."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run",
        help="run a pipeline file",
        description="Run a pipeline file as Python would. Arguments that are not listed here are "
        "the file's own.",
    )
    run.add_argument("file", help="the pipeline file")
    run.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a RuntimeParameter; may be given several times",
    )
    options, passed_on = parser.parse_known_args(argv)
    try:
        _run(options.file, dict(map(_name_and_value, options.param)), passed_on)
    except (StokerError, ValueError) as error:
        sys.exit(f"stoker: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--param takes NAME=VALUE, got {text!r}.")
    return name, value


def _run(file: str, parameters: dict[str, str], passed_on: list[str]) -> None:
    if not os.path.isfile(file):
        raise ValueError(f"There is no pipeline file {file}.")
    path = os.path.abspath(file)
    sys.argv = [path, *(argument for argument in passed_on if argument != "--")]
    sys.path.insert(0, os.path.dirname(path))
    with intercept(parameters) as runs:
        runpy.run_path(path, run_name="__main__")
        if not runs:
            raise ValueError(
                f"{file} ran no pipeline. It should call LocalDagRunner().run(pipeline), under "
                'if __name__ == "__main__": or in the function that it calls there.'
            )
