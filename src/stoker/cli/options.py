# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and the store that they name.

The store is the one that a command or the environment is told, or one below the current folder: the
only one, the one that knows what is asked for, or the newest.
"""

import contextlib
import functools
import glob
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from stoker.cli.lookup import is_known
from stoker.cli.printing import print_line
from stoker.errors import StokerError
from stoker.metadata.config import (
    STORE_VARIABLE,
    StoreConfig,
    sqlite_metadata_connection_config,
)
from stoker.metadata.store import Store

_FILES = ("metadata.db", "metadata.sqlite")
"""What stores are called: by Stoker and most pipelines, and by TFX's notebooks."""
_DEPTHS = ("", "*", "*/*", "*/*/*")

fresh_option = click.option(
    "--fresh", is_flag=True, help="Start over instead of continuing a run that was stopped."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def parameter_option(help_text: str) -> Callable[[Any], Any]:
    """The values of RuntimeParameters; what they are for differs from command to command."""
    return click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        callback=names_and_values,
        help=help_text,
    )


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
    place = click.option(
        "--store",
        "place",
        metavar="FILE|URL",
        help=f"The metadata store itself.  [default: {STORE_VARIABLE}, if it is set]",
    )
    return root(place(command))


def with_store(
    by: str | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options that name a store, and the open store as `store`.

    Where there are several, it is the one that knows the value of the argument `by`.
    """

    def wrap(command: Callable[..., int]) -> Callable[..., int]:
        @store_options
        @functools.wraps(command)
        def with_open_store(*args: Any, root: str, place: str | None, **options: Any) -> int:
            stores = find_stores(root, place)
            config = choose_store(stores, options[by]) if by else _take_only(stores)
            with open_store(config) as store:
                return command(*args, store=store, **options)

        return with_open_store

    return wrap


def open_store(config: StoreConfig) -> Store:
    """A store to read; in a database that is empty, none is made."""
    return Store(config, must_exist=not config.is_file)


def name_store(config: StoreConfig) -> str:
    """What a store is called: its file from here, or its URL without the password."""
    return os.path.relpath(config.path) if config.is_file else config.place


def choose_store(stores: Sequence[StoreConfig], asked: str | Sequence[str]) -> StoreConfig:
    """The store that knows what is asked for; the newest, if several do, or none."""
    names = [asked] if isinstance(asked, str) else list(asked)
    newest_first = sorted(stores, key=_find_newest_run, reverse=True) if stores[1:] else stores
    knowing = [one for one in newest_first if names and _knows(one, names)]
    chosen = (knowing or newest_first)[0]
    if len(knowing or stores) > 1:
        others = f"{len(knowing)} that know {names[0]}" if knowing else f"{len(stores)} stores"
        print_line(
            f"From {name_store(chosen)}, the newest of {others}; --store FILE chooses another.",
            error=True,
        )
    return chosen


def _knows(config: StoreConfig, names: Sequence[str]) -> bool:
    with open_store(config) as store:
        return all(is_known(store, name) for name in names)


def _find_newest_run(config: StoreConfig) -> int:
    with open_store(config) as store:
        return max((run.created_ms for run in store.runs(newest=1)), default=0)


def _take_only(stores: Sequence[StoreConfig]) -> StoreConfig:
    if len(stores) > 1:
        choices = "".join(f"\n  --store {name_store(one)}" for one in stores)
        raise click.UsageError(f"There are {len(stores)} stores; choose one:{choices}")
    return stores[0]


def find_stores(root: str, place: str | None) -> list[StoreConfig]:
    """The store at `place`, or all below `root`; that there is none is wrong usage."""
    if not place and root == ".":
        place = os.environ.get(STORE_VARIABLE)
    if place and "://" in place:
        try:
            return [StoreConfig(place)]
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if place and not os.path.isfile(place):
        raise click.UsageError(f"There is no store {place}. Give the path of a {_FILES[0]}.")
    found = [place] if place else _list_stores_below(root)
    if not found:
        raise click.UsageError(
            f"There is no {_FILES[0]} in {os.path.abspath(root)} or below it. Run a pipeline, "
            "name its folder with --root DIR, or its store with --store FILE."
        )
    return list(map(sqlite_metadata_connection_config, found))


def _list_stores_below(root: str) -> list[str]:
    """The stores in `root`, or else all those up to three folders below it."""
    found: list[str] = []
    for depth in _DEPTHS:
        patterns = [os.path.join(glob.escape(root), depth, name) for name in _FILES]
        found += sorted(os.path.normpath(path) for one in patterns for path in glob.glob(one))
        if found and not depth:
            break
    return found


def complete(
    kind: Callable[[Store], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Let a shell complete an argument by what the stores have of a kind."""

    def list_beginning_so(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        # A shell has no place for an error: it then completes nothing.
        with contextlib.suppress(click.UsageError, StokerError, OSError):
            stores = find_stores(ctx.params.get("root") or ".", ctx.params.get("place"))
            names = dict.fromkeys(name for one in stores for name in _list_kind(one, kind))
            return [name for name in names if name.startswith(incomplete)]
        return []

    return list_beginning_so


def _list_kind(config: StoreConfig, kind: Callable[[Store], Iterable[str]]) -> list[str]:
    with open_store(config) as store:
        return list(kind(store))
