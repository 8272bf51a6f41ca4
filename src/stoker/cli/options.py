# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from collections.abc import Sequence

import click

fresh_option = click.option(
    "--fresh", is_flag=True, help="Start over instead of continuing a run that was stopped."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def names_and_values(
    ctx: click.Context, option: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """NAME=VALUE options as a dict."""
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.UsageError(f"{option.opts[0]} takes NAME=VALUE, got {text!r}.", ctx)
        pairs[name] = value
    return pairs
