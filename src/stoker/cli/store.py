# SPDX-License-Identifier: Apache-2.0
"""`stoker store`: a metadata store moves to a server, or to the schema version of today."""

import click

from stoker.cli.options import name_store
from stoker.cli.printing import print_line
from stoker.metadata.config import STORE_VARIABLE, StoreConfig, as_place, find_store_variable


@click.group()
def store() -> None:
    """Move a metadata store, or bring an old one up to date."""


@store.command()
@click.argument("source", metavar="FILE|URL")
@click.argument("target", metavar="URL", required=False)
def migrate(source: str, target: str | None) -> int:
    """Copy a store into an empty database, with all its ids; what is copied stays as it is.

    The URL may be in STOKER_STORE, and with it the password.
    """
    from stoker.metadata.moving import migrate

    old, new = _find(source), _find(target)
    copied = migrate(old, new, print_line)
    print_line(
        f"Copied {copied['Execution']} executions and {copied['Artifact']} artifacts to "
        f"{new.place}. From now on: export {STORE_VARIABLE}={new.place}"
    )
    return 0


@store.command()
@click.argument("place", metavar="FILE|URL", required=False)
@click.option("--store", "named", metavar="FILE|URL", help="The store, named as an option.")
@click.option("--backed-up", is_flag=True, help="Say that the database on the server is backed up.")
def upgrade(place: str | None, named: str | None, backed_up: bool) -> int:
    """Bring a store of an older version of ML Metadata up to date.

    A file is copied first. On a server, the columns of a store that ml-metadata made are widened in
    place; one of an older version is moved into an empty database: stoker store migrate OLD NEW.
    """
    from stoker.metadata.moving import upgrade_file, widen

    config = _find(place or named)
    if config.is_file:
        if not config.exists():
            raise click.UsageError(f"There is no store {place}. Check the name.")
        backup = upgrade_file(config, print_line)
        done = f"is up to date. As it was: {backup}" if backup else "is up to date already."
        print_line(f"{name_store(config)} {done}")
        return 0
    if not backed_up:
        raise click.UsageError(
            f"Back up {config.place} first, then add --backed-up: {_BACKUPS[config.kind]}"
        )
    print_line(f"{config.place} is up to date{'' if widen(config) else ' already'}.")
    return 0


_BACKUPS = {
    "postgresql": "pg_dump --format=custom --file=store.dump DATABASE",
    "mysql": "mariadb-dump --single-transaction DATABASE > store.sql",
}


def _find(place: str | None) -> StoreConfig:
    found = as_place(place) if place else find_store_variable()
    if found is None:
        raise click.UsageError(f"Name the store: its URL, or {STORE_VARIABLE}.")
    return found
