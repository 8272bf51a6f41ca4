# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and the store that they name.

The store is the one that a command is told, or the only one below the current folder.
"""

import functools
import glob
import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from stoker.metadata.config import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.store import Store

_FILES = ("metadata.db", "metadata.sqlite")
"""What stores are called: by Stoker and most pipelines, and by TFX's notebooks."""
_DEPTHS = ("", "*", "*/*", "*/*/*")

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


def store_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that name a store, as `root` and `place`."""
    root = click.option(
        "--root",
        metavar="DIR",
        default=".",
        help="A pipeline root, or a folder above it.  [default: the current folder]",
    )
    place = click.option("--store", "place", metavar="FILE|URL", help="The metadata store itself.")
    return root(place(command))


def with_store(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that name a store, and the open store as `store`."""

    @store_options
    @functools.wraps(command)
    def with_open_store(*args: Any, root: str, place: str | None, **options: Any) -> int:
        with Store(find_store(root, place)) as store:
            return command(*args, store=store, **options)

    return with_open_store


def find_store(root: str, place: str | None) -> StoreConfig:
    """The store at `place`, or the only one below `root`; anything else is wrong usage."""
    if place and "://" in place:
        try:
            return StoreConfig(place)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if place and not os.path.isfile(place):
        raise click.UsageError(f"There is no store {place}.")
    found = [place] if place else _stores_below(root)
    if not found:
        raise click.UsageError(
            f"There is no {_FILES[0]} in {os.path.abspath(root)} or below it. Run a pipeline, "
            "name its folder with --root DIR, or its store with --store FILE."
        )
    if len(found) > 1:
        choices = "".join(f"\n  --store {path}" for path in found)
        raise click.UsageError(f"There are {len(found)} stores; choose one:{choices}")
    return sqlite_metadata_connection_config(found[0])


def _stores_below(root: str) -> list[str]:
    """The stores nearest to `root`; what lies deeper belongs to one of them, or to others."""
    for depth in _DEPTHS:
        patterns = [os.path.join(glob.escape(root), depth, name) for name in _FILES]
        if found := sorted(os.path.normpath(path) for one in patterns for path in glob.glob(one)):
            return found
    return []
