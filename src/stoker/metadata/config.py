# SPDX-License-Identifier: Apache-2.0
"""Where a metadata store is: what a pipeline declares and the runner opens."""

import importlib.util
import os
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from stoker.errors import MissingPart

STORE_VARIABLE = "STOKER_STORE"
"""The environment variable that names a store, by a URL or the path of a file."""

_SQLITE = "sqlite:///"
_POSTGRES, _MYSQL = "postgresql", "mysql"
_SCHEMES = {
    **dict.fromkeys(("postgresql", "postgres", "postgresql+psycopg"), _POSTGRES),
    **dict.fromkeys(("mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql"), _MYSQL),
}
_DRIVERS = {_POSTGRES: ("psycopg", "postgres"), _MYSQL: ("pymysql", "mysql")}
"""The module that speaks with a server, and our extra that brings it."""
_FORMS = "sqlite:///FILE, postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """A metadata store by its database URL: of an SQLite file, or a PostgreSQL or MySQL server.

    After `sqlite:///` comes the path of a file, exactly as it is named; nothing in it is escaped.
    In the URL of a server, user and password are percent-encoded, and what follows `?` are options
    of its driver: `sslmode=verify-full` and what else libpq knows, or `ssl_ca=FILE` for MySQL.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if self.url.startswith(_SQLITE):
            return
        if self.kind not in _DRIVERS:
            raise ValueError(f"A metadata store is {_FORMS}, got {self.place!r}.")
        if not self._parts.path.strip("/"):
            raise ValueError(
                f"The metadata store {self.place} names no database: end its URL with /DATABASE."
            )

    def __repr__(self) -> str:
        return f"StoreConfig({self.place!r})"

    @property
    def _parts(self) -> urllib.parse.SplitResult:
        return urllib.parse.urlsplit(self.url)

    @property
    def kind(self) -> str:
        """The database's: `sqlite`, `postgresql` or `mysql`; empty for what is none of them."""
        scheme, _, _ = self.url.partition("://")
        return "sqlite" if self.is_file else _SCHEMES.get(scheme, "")

    @property
    def is_file(self) -> bool:
        """Whether it is an SQLite file; else a server has it."""
        return self.url.startswith(_SQLITE)

    @property
    def path(self) -> str:
        """The file; empty if a server has the store."""
        return self.url.removeprefix(_SQLITE) if self.is_file else ""

    def exists(self) -> bool:
        """Whether there may be something in the store."""
        return not self.is_file or os.path.exists(self.path)

    @property
    def place(self) -> str:
        """The file, or the URL without password and options; for messages and records."""
        if self.is_file:
            return self.path
        scheme, sign, rest = self.url.partition("://")
        if not sign:
            return self.url
        rest = rest.split("?")[0]
        account, at, where = rest.rpartition("@")
        return f"{scheme}://{account.split(':')[0]}{at}{where}"

    @property
    def password(self) -> str:
        """The password in the URL, if there is one: to be masked wherever it is quoted."""
        try:
            password = urllib.parse.unquote(self._parts.password or "")
        except ValueError:  # no URL
            return ""
        asked = urllib.parse.parse_qs(self._parts.query)
        return password or asked.get("password", [""])[0]

    def require_driver(self) -> None:
        """Refuse a server whose driver is not installed, with the command that installs it."""
        if self.is_file:
            return
        module, extra = _DRIVERS[self.kind]
        if not _is_installed(module):
            raise MissingPart(
                f"The metadata store at {self.place} needs {module}, which is not installed: "
                f"pip install 'stoker[{extra}]'.",
                name=module,
            )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # somebody has put nothing in its place
        return False


def sqlite_metadata_connection_config(metadata_db_uri: str | os.PathLike[str]) -> StoreConfig:
    """A store in an SQLite file, which is made when it is first opened."""
    return StoreConfig(_SQLITE + os.path.abspath(metadata_db_uri))


def _make_server_config(
    kind: str,
    host: str,
    port: int | str,
    database: str,
    username: str,
    password: str,
    options: dict[str, str],
) -> StoreConfig:
    said = {name: value for name, value in options.items() if value}
    quote = urllib.parse.quote
    secret = f":{quote(password, safe='')}" if password else ""
    account = f"{quote(username, safe='')}{secret}@" if username or password else ""
    where = f"[{host}]" if ":" in host else quote(host, safe="")
    at = f"{where}:{port}" if port else where
    query = f"?{urllib.parse.urlencode(said)}" if said else ""
    return StoreConfig(f"{kind}://{account}{at}/{quote(database, safe='')}{query}")


def find_store_variable() -> StoreConfig | None:
    """The store that the environment names for all runs and commands, if it does."""
    place = os.environ.get(STORE_VARIABLE)
    return as_place(place) if place else None


def use_store(place: str | None) -> None:
    """Let all runs and commands of this process have the store at `place`, if one is given."""
    if place:
        config = as_place(place)
        os.environ[STORE_VARIABLE] = config.path or config.url


def as_place(text: str) -> StoreConfig:
    """The store with this URL, or in the file with this path."""
    return StoreConfig(text) if "://" in text else sqlite_metadata_connection_config(text)


def is_in_memory(config: Any) -> bool:
    """Whether a ConnectionConfig asks for a store in memory alone."""
    if not _is_connection_config(config):
        return False
    kind = config.WhichOneof("config")
    return kind == "fake_database" or (kind == "sqlite" and not config.sqlite.filename_uri)


def names_no_place(config: Any) -> bool:
    """Whether a ConnectionConfig is empty, or asks for a store in memory alone."""
    is_empty = _is_connection_config(config) and config.WhichOneof("config") is None
    return is_empty or is_in_memory(config)


def _is_connection_config(config: Any) -> bool:
    return isinstance(config, Message) and "sqlite" in config.DESCRIPTOR.fields_by_name


def as_store_config(config: Any) -> StoreConfig:
    """A StoreConfig as it is; or what a ConnectionConfig, ML Metadata's or Stoker's, says."""
    if isinstance(config, StoreConfig):
        return config
    if _is_connection_config(config):
        match config.WhichOneof("config"):
            case "sqlite" if config.sqlite.filename_uri:
                return sqlite_metadata_connection_config(config.sqlite.filename_uri)
            case "mysql":
                return _read_mysql(config.mysql)
            case "postgresql":
                return _read_postgresql(config.postgresql)
    if isinstance(config, Message) and config.DESCRIPTOR.name == "MetadataStoreClientConfig":
        server: Any = config
        raise ValueError(
            f"Metadata servers like {server.host}:{server.port} are not supported: give a "
            "ConnectionConfig of the database that the server uses, for example of mysql."
        )
    raise ValueError(f"A metadata store is {_FORMS}, got {_kind_of(config)}.")


def _read_mysql(said: Any) -> StoreConfig:
    tls = said.ssl_options
    options = {f"ssl_{name}": getattr(tls, name) for name in ("key", "cert", "ca", "capath")}
    options |= {"ssl_cipher": tls.cipher, "unix_socket": said.socket}
    if tls.ca or tls.capath or tls.verify_server_cert:
        # A certificate of Cloud SQL names no host, for example.
        options["ssl_check_hostname"] = "true" if tls.verify_server_cert else "false"
    host = said.host or "localhost"
    return _make_server_config(
        _MYSQL, host, said.port, said.database, said.user, said.password, options
    )


def _read_postgresql(said: Any) -> StoreConfig:
    names = ("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert")
    options = {name: getattr(said.ssloption, name) for name in names}
    options |= {"hostaddr": said.hostaddr, "passfile": said.passfile}
    host = said.host or said.hostaddr or "localhost"
    return _make_server_config(
        _POSTGRES, host, said.port, said.dbname, said.user, said.password, options
    )


def _kind_of(config: Any) -> str:
    """The kind of a store; what is in a message may be a password."""
    if isinstance(config, Message) and "config" in config.DESCRIPTOR.oneofs_by_name:
        return f"a ConnectionConfig of {config.WhichOneof('config') or 'nothing'}"
    return f"a {config.DESCRIPTOR.name}" if isinstance(config, Message) else repr(config)
