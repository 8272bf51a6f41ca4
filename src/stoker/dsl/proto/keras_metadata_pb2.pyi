# mypy: disable-error-code="type-arg"
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KerasObject(_message.Message):
    __slots__ = ("node_path", "metadata")
    NODE_PATH_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    node_path: str
    metadata: str
    def __init__(self, node_path: _Optional[str] = ..., metadata: _Optional[str] = ...) -> None: ...

class KerasMetadata(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[KerasObject]
    def __init__(self, nodes: _Optional[_Iterable[_Union[KerasObject, _Mapping]]] = ...) -> None: ...
