# mypy: disable-error-code="type-arg"
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PrestoConnConfig(_message.Message):
    __slots__ = ("host", "port", "user", "source", "catalog", "schema", "http_scheme", "basic_auth", "max_attempts", "request_timeout")
    class BasicAuthConfig(_message.Message):
        __slots__ = ("username", "password")
        USERNAME_FIELD_NUMBER: _ClassVar[int]
        PASSWORD_FIELD_NUMBER: _ClassVar[int]
        username: str
        password: str
        def __init__(self, username: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    HTTP_SCHEME_FIELD_NUMBER: _ClassVar[int]
    BASIC_AUTH_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    user: str
    source: str
    catalog: str
    schema: str
    http_scheme: str
    basic_auth: PrestoConnConfig.BasicAuthConfig
    max_attempts: int
    request_timeout: int
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ..., user: _Optional[str] = ..., source: _Optional[str] = ..., catalog: _Optional[str] = ..., schema: _Optional[str] = ..., http_scheme: _Optional[str] = ..., basic_auth: _Optional[_Union[PrestoConnConfig.BasicAuthConfig, _Mapping]] = ..., max_attempts: _Optional[int] = ..., request_timeout: _Optional[int] = ...) -> None: ...
