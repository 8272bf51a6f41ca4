# SPDX-License-Identifier: Apache-2.0
"""Where a metadata store is: what a pipeline declares and the runner opens."""

import os
import re
from dataclasses import dataclass, field

__all__ = ["StoreConfig", "sqlite_metadata_connection_config"]

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """A metadata store by its database URL.

    After `sqlite:///` comes the path of a file, exactly as it is named; nothing in it is escaped.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if "://" not in self.url:
            raise ValueError(
                f"StoreConfig takes a database URL, got {self.url!r}. "
                "For a file, use sqlite_metadata_connection_config(path)."
            )

    def __repr__(self) -> str:
        return f"StoreConfig({self.place!r})"

    @property
    def path(self) -> str | None:
        """The file of an SQLite store, or None for a server."""
        return self.url.removeprefix(_SQLITE) if self.url.startswith(_SQLITE) else None

    def exists(self) -> bool:
        """Whether there may be something in the store: a server is not asked."""
        return self.path is None or os.path.exists(self.path)

    @property
    def place(self) -> str:
        """The file, or the URL without its password; for messages."""
        return self.path or re.sub(r"(://[^:/@]*):[^/]*@", r"\1:***@", self.url)


def sqlite_metadata_connection_config(metadata_db_uri: str | os.PathLike[str]) -> StoreConfig:
    """A store in an SQLite file, which is made when it is first opened."""
    return StoreConfig(_SQLITE + os.path.abspath(metadata_db_uri))
