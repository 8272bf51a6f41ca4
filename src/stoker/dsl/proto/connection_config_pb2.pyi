# mypy: disable-error-code="type-arg"
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConnectionConfig(_message.Message):
    __slots__ = ("fake_database", "mysql", "sqlite")
    FAKE_DATABASE_FIELD_NUMBER: _ClassVar[int]
    MYSQL_FIELD_NUMBER: _ClassVar[int]
    SQLITE_FIELD_NUMBER: _ClassVar[int]
    fake_database: FakeDatabaseConfig
    mysql: MySQLDatabaseConfig
    sqlite: SqliteMetadataSourceConfig
    def __init__(self, fake_database: _Optional[_Union[FakeDatabaseConfig, _Mapping]] = ..., mysql: _Optional[_Union[MySQLDatabaseConfig, _Mapping]] = ..., sqlite: _Optional[_Union[SqliteMetadataSourceConfig, _Mapping]] = ...) -> None: ...

class FakeDatabaseConfig(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MySQLDatabaseConfig(_message.Message):
    __slots__ = ("host", "port", "database", "user", "password")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    DATABASE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    database: str
    user: str
    password: str
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ..., database: _Optional[str] = ..., user: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...

class SqliteMetadataSourceConfig(_message.Message):
    __slots__ = ("filename_uri", "connection_mode")
    class ConnectionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[SqliteMetadataSourceConfig.ConnectionMode]
        READONLY: _ClassVar[SqliteMetadataSourceConfig.ConnectionMode]
        READWRITE: _ClassVar[SqliteMetadataSourceConfig.ConnectionMode]
        READWRITE_OPENCREATE: _ClassVar[SqliteMetadataSourceConfig.ConnectionMode]
    UNKNOWN: SqliteMetadataSourceConfig.ConnectionMode
    READONLY: SqliteMetadataSourceConfig.ConnectionMode
    READWRITE: SqliteMetadataSourceConfig.ConnectionMode
    READWRITE_OPENCREATE: SqliteMetadataSourceConfig.ConnectionMode
    FILENAME_URI_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_MODE_FIELD_NUMBER: _ClassVar[int]
    filename_uri: str
    connection_mode: SqliteMetadataSourceConfig.ConnectionMode
    def __init__(self, filename_uri: _Optional[str] = ..., connection_mode: _Optional[_Union[SqliteMetadataSourceConfig.ConnectionMode, str]] = ...) -> None: ...
