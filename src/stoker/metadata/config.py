# SPDX-License-Identifier: Apache-2.0
"""Where a metadata store is: what a pipeline declares and the runner opens."""

import os
import re
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """A metadata store by its database URL.

    After `sqlite:///` comes the path of a file, exactly as it is named; nothing in it is escaped.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.url.startswith(_SQLITE):
            raise ValueError(
                f"A metadata store is an SQLite file, got {self.place!r}. "
                "Use sqlite_metadata_connection_config(path)."
            )

    def __repr__(self) -> str:
        return f"StoreConfig({self.place!r})"

    @property
    def path(self) -> str:
        """The file."""
        return self.url.removeprefix(_SQLITE)

    def exists(self) -> bool:
        """Whether there may be something in the store."""
        return os.path.exists(self.path)

    @property
    def place(self) -> str:
        """The file, or a URL without its password; for messages."""
        return re.sub(r"(://[^:/@]*):[^/]*@", r"\1:***@", self.path)


def sqlite_metadata_connection_config(metadata_db_uri: str | os.PathLike[str]) -> StoreConfig:
    """A store in an SQLite file, which is made when it is first opened."""
    return StoreConfig(_SQLITE + os.path.abspath(metadata_db_uri))


def names_no_place(config: Any) -> bool:
    """Whether a ConnectionConfig is empty, or asks for a store in memory alone."""
    if not (isinstance(config, Message) and "sqlite" in config.DESCRIPTOR.fields_by_name):
        return False
    message: Any = config
    kind = message.WhichOneof("config")
    return kind in (None, "fake_database") or (kind == "sqlite" and not message.sqlite.filename_uri)


def as_store_config(config: Any) -> StoreConfig:
    """A StoreConfig as it is; or what a ConnectionConfig, ML Metadata's or Stoker's, says."""
    if isinstance(config, StoreConfig):
        return config
    if isinstance(config, Message) and "sqlite" in config.DESCRIPTOR.fields_by_name:
        message: Any = config
        if message.sqlite.filename_uri:
            return sqlite_metadata_connection_config(message.sqlite.filename_uri)
    raise ValueError(
        f"A metadata store is an SQLite file, got {_kind_of(config)}. Use "
        "sqlite_metadata_connection_config(path)."
    )


def _kind_of(config: Any) -> str:
    """The kind of a store; what is in a message may be a password."""
    if isinstance(config, Message) and "config" in config.DESCRIPTOR.oneofs_by_name:
        return f"a ConnectionConfig of {config.WhichOneof('config') or 'nothing'}"
    return repr(config)
