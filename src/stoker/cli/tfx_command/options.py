# SPDX-License-Identifier: Apache-2.0
"""The options that TFX's commands take, each with underscores and with hyphens."""

from collections.abc import Callable
from typing import Any

import click

_LOCAL = ("local", "auto", "beam")
"""The engines that mean this machine; `auto` is TFX's default."""
_CLOUD = (
    *("endpoint", "iap_client_id", "project", "region"),
    *("package_path", "build_target_image", "build_base_image", "skaffold_cmd"),
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(name: str, **settings: Any) -> Decorator:
    """An option that may be spelled --like_this or --like-this."""
    spellings = dict.fromkeys([f"--{name}", f"--{name.replace('_', '-')}"])
    return click.option(*spellings, name, **settings)


def _check_engine(ctx: click.Context, _: click.Parameter, engine: str) -> None:
    if engine not in _LOCAL:
        raise click.UsageError(
            f"--engine={engine} is not in this version of Stoker. Use --engine=local: it runs the "
            "file's pipeline on this machine, whichever runner the file names.",
            ctx,
        )


def takes_engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take --engine, and what means something to engines in a cloud alone."""
    command = click.option(
        "--engine",
        default="local",
        show_default=True,
        callback=_check_engine,
        expose_value=False,
        help="Where the pipeline runs: local, which is this machine.",
    )(command)
    for name in _CLOUD:
        command = option(name, hidden=True, expose_value=False)(command)
    command = click.option("-n", "--namespace", hidden=True, expose_value=False)(command)
    return option("build_image", is_flag=True, hidden=True, expose_value=False)(command)


takes_path = option(
    "pipeline_path",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="The file that runs the pipeline.",
)
takes_name = option("pipeline_name", required=True, help="The name of the pipeline.")
takes_run_id = option("run_id", required=True, help="The id of the run.")
