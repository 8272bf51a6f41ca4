# SPDX-License-Identifier: Apache-2.0
"""Artifacts: the typed directories and values that steps hand to each other.

Type names, properties and directory layouts are TFX's, so that code and stores written for TFX
work here. Each class draws its directory.
"""

import abc
import enum
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from stoker.any_python import fileio
from stoker.any_python.layout import check_file_name

__all__ = [
    "STANDARD_TYPES",
    "Artifact",
    "ArtifactMap",
    "Property",
    "PropertyType",
    "State",
    "SystemType",
    "ValueArtifact",
    "artifact_class",
    "decode_split_names",
    "encode_split_names",
    "every",
    "get_split_uri",
    "get_split_uris",
    "is_annotated_value",
]

PropertyValue = int | float | str | bool | list[Any] | dict[str, Any] | None


class PropertyType(enum.IntEnum):
    """What a property holds; the numbers are MLMD's."""

    INT = 1
    FLOAT = 2
    STRING = 3
    JSON_VALUE = 4
    PROTO = 5
    BOOLEAN = 6


class State(enum.IntEnum):
    """Where an artifact stands; the numbers are MLMD's."""

    UNKNOWN = 0
    PENDING = 1
    LIVE = 2
    MARKED_FOR_DELETION = 3
    DELETED = 4
    ABANDONED = 5
    REFERENCE = 6


class SystemType(enum.StrEnum):
    """The base type of an artifact type, by its name in MLMD."""

    DATASET = "mlmd.Dataset"
    MODEL = "mlmd.Model"
    METRICS = "mlmd.Metrics"
    STATISTICS = "mlmd.Statistics"


@dataclass(frozen=True)
class Property:
    """One declared property of an artifact type."""

    type: PropertyType


_DEFAULTS: dict[PropertyType, PropertyValue] = {
    PropertyType.INT: 0,
    PropertyType.FLOAT: 0.0,
    PropertyType.STRING: "",
    PropertyType.JSON_VALUE: None,
    PropertyType.PROTO: None,
    PropertyType.BOOLEAN: False,
}
_PYTHON_TYPES: dict[PropertyType, tuple[type, ...]] = {
    PropertyType.INT: (int,),
    PropertyType.FLOAT: (float, int),
    PropertyType.STRING: (str,),
    PropertyType.BOOLEAN: (bool,),
}


def _make_property(name: str, kind: PropertyType) -> property:
    """The attribute through which a declared property is read and written."""

    def read(self: "Artifact") -> PropertyValue:
        return self.properties.get(name, _DEFAULTS[kind])

    def write(self: "Artifact", value: PropertyValue) -> None:
        wanted = _PYTHON_TYPES.get(kind)
        if wanted and not isinstance(value, wanted):
            raise TypeError(
                f"{self.type_name}.{name} holds {kind.name}, got {value!r} of type "
                f"{type(value).__name__}."
            )
        self.properties[name] = value

    return property(read, write)


class Artifact:
    """One output of a step: a URI, a type, and what is known about it."""

    TYPE_NAME: ClassVar[str | None] = None
    TYPE_ANNOTATION: ClassVar["SystemType | type[Artifact] | None"] = None
    """A base type of MLMD's, or a class that has one."""
    PROPERTIES: ClassVar[dict[str, Property] | None] = None
    GATHERS_LOGS: ClassVar[bool] = False
    """Whether every attempt at a step adds to it, and the workers of an Estimator share it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ == __name__ and "TYPE_NAME" not in cls.__dict__:
            cls.TYPE_NAME = cls.__name__  # TFX's own types have the names of their classes
        for name, declared in (cls.__dict__.get("PROPERTIES") or {}).items():
            if name not in cls.__dict__:
                setattr(cls, name, _make_property(name, declared.type))

    def __init__(self) -> None:
        if not self.TYPE_NAME:
            raise ValueError(
                f"{type(self).__name__} has no TYPE_NAME. Use one of the standard artifacts, or "
                "write a subclass: class MyData(Artifact): TYPE_NAME = 'MyData'."
            )
        self.uri: str = ""
        self.id: int = 0
        self.type_id: int = 0
        """That of its type in the store; 0 until it is read from there."""
        self.name: str = ""
        self.state: State = State.UNKNOWN
        self.properties: dict[str, PropertyValue] = {}
        self.custom_properties: dict[str, PropertyValue] = {}

    def __repr__(self) -> str:
        return f"{self.type_name}(id={self.id}, uri={self.uri!r})"

    @property
    def type(self) -> "type[Artifact]":
        """The artifact's class."""
        return type(self)

    @property
    def type_name(self) -> str:
        """The name of the artifact's type in the store."""
        assert self.TYPE_NAME
        return self.TYPE_NAME

    @classmethod
    def system_type(cls) -> "SystemType | None":
        """MLMD's base type of this type, if it has one."""
        found = cls.TYPE_ANNOTATION
        return found.system_type() if isinstance(found, type) else found

    @property
    def mlmd_artifact(self) -> Any:
        """This artifact as ML Metadata's message, for code that reads it there."""
        from ml_metadata.proto import metadata_store_pb2

        message = metadata_store_pb2.Artifact(
            id=self.id,
            uri=self.uri,
            type=self.type_name,
            type_id=self.type_id,
            name=self.name,
            state=int(self.state),
        )
        for target, values in (
            (message.properties, self.properties),
            (message.custom_properties, self.custom_properties),
        ):
            for name, value in values.items():
                _fill_message(target[name], value)
        return message

    @property
    def artifact_type(self) -> Any:
        """The artifact's type as ML Metadata's message."""
        from ml_metadata.proto import metadata_store_pb2

        kinds = {name: int(declared.type) for name, declared in (self.PROPERTIES or {}).items()}
        return metadata_store_pb2.ArtifactType(name=self.type_name, properties=kinds)

    @property
    def pipeline_name(self) -> str:
        """The pipeline whose step made it, where that was noted."""
        return self.get_string_custom_property("pipeline_name")

    @pipeline_name.setter
    def pipeline_name(self, pipeline_name: str) -> None:
        self.set_string_custom_property("pipeline_name", pipeline_name)

    @property
    def producer_component(self) -> str:
        """The step that made it, where that was noted."""
        return self.get_string_custom_property("producer_component")

    @producer_component.setter
    def producer_component(self, producer_component: str) -> None:
        self.set_string_custom_property("producer_component", producer_component)

    @property
    def is_external(self) -> bool:
        """Whether no step made it."""
        return self.get_int_custom_property("is_external") == 1

    @is_external.setter
    def is_external(self, is_external: bool) -> None:
        self.set_int_custom_property("is_external", int(is_external))

    def has_property(self, key: str) -> bool:
        """Whether the type declares a property `key`, and it was set."""
        return key in self.properties

    def has_custom_property(self, key: str) -> bool:
        """Whether `key` was set as a custom property."""
        return key in self.custom_properties

    def get_custom_property(self, key: str) -> PropertyValue:
        """The custom property `key`, or None."""
        return self.custom_properties.get(key)

    def set_string_custom_property(self, key: str, value: str) -> None:
        """Set a custom property to a string."""
        self.custom_properties[key] = str(value)

    def set_int_custom_property(self, key: str, value: int) -> None:
        """Set a custom property to an integer."""
        self.custom_properties[key] = int(value)

    def set_float_custom_property(self, key: str, value: float) -> None:
        """Set a custom property to a float."""
        self.custom_properties[key] = float(value)

    def set_json_value_custom_property(self, key: str, value: PropertyValue) -> None:
        """Set a custom property to a JSON value."""
        self.custom_properties[key] = value

    def set_bool_custom_property(self, key: str, value: bool) -> None:
        """Set a custom property to True or False."""
        self.custom_properties[key] = bool(value)

    def get_string_custom_property(self, key: str) -> str:
        """The custom property `key` as a string, or an empty one."""
        return str(self.custom_properties.get(key, ""))

    def get_int_custom_property(self, key: str) -> int:
        """The custom property `key` as an integer, or 0."""
        return int(self.custom_properties.get(key, 0))  # type: ignore[arg-type]

    def get_float_custom_property(self, key: str) -> float:
        """The custom property `key` as a float, or 0.0."""
        return float(self.custom_properties.get(key, 0.0))  # type: ignore[arg-type]

    def get_bool_custom_property(self, key: str) -> bool:
        """The custom property `key` as True or False; False if it was not set."""
        return bool(self.custom_properties.get(key, False))

    get_json_value_custom_property = get_custom_property

    def set_proto_custom_property(self, key: str, value: Any) -> None:
        """Set a custom property to a message, which is kept as JSON with its type."""
        from google.protobuf import any_pb2, json_format

        packed = any_pb2.Any()
        packed.Pack(value)
        self.custom_properties[key] = json_format.MessageToDict(packed)

    def get_proto_custom_property(self, key: str) -> Any:
        """The message that a custom property holds, or None; its module has to be imported."""
        from google.protobuf import any_pb2, descriptor_pool, json_format, message_factory

        record = self.custom_properties.get(key)
        if not isinstance(record, dict):
            return None
        packed = json_format.ParseDict(record, any_pb2.Any())
        kind = descriptor_pool.Default().FindMessageTypeByName(packed.TypeName())
        message = message_factory.GetMessageClass(kind)()
        packed.Unpack(message)
        return message

    def copy_from(self, other: "Artifact") -> None:
        """Take over everything that is known about another artifact of this type."""
        if other.type_name != self.type_name:
            raise ValueError(
                f"A {self.type_name} cannot be a copy of {other!r}. Give a {self.type_name}."
            )
        vars(self).update(vars(type(self).from_dict(other.to_dict())))

    def to_dict(self) -> dict[str, Any]:
        """This artifact as plain JSON, for the border between processes."""
        return {
            "type": self.type_name,
            "uri": self.uri,
            "id": self.id,
            "name": self.name,
            "state": int(self.state),
            "properties": self.properties,
            "custom_properties": self.custom_properties,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """The artifact that `to_dict` wrote, as an instance of this class."""
        artifact = cls()
        artifact.uri = record["uri"]
        artifact.id = record["id"]
        artifact.name = record["name"]
        artifact.state = State(record["state"])
        artifact.properties = dict(record["properties"])
        artifact.custom_properties = dict(record["custom_properties"])
        return artifact

    to_json_dict = to_dict
    from_json_dict = from_dict


def _fill_message(target: Any, value: PropertyValue) -> None:
    """A property's value in ML Metadata's message."""
    match value:
        case bool():
            target.bool_value = value
        case int():
            target.int_value = value
        case float():
            target.double_value = value
        case str():
            target.string_value = value
        case dict() | list() | tuple():
            fields = value if isinstance(value, dict) else {"__value__": list(value)}
            target.struct_value.update(fields)


# By TFX's names: types of others are declared with them.
SPAN_PROPERTY = Property(PropertyType.INT)
VERSION_PROPERTY = Property(PropertyType.INT)
SPLIT_NAMES_PROPERTY = Property(PropertyType.STRING)
_SPLIT = {"split_names": SPLIT_NAMES_PROPERTY}
_SPAN = {"span": SPAN_PROPERTY}


class _WithSplits(Artifact):
    """An artifact whose directory has one folder per split."""

    split_names: str

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return decode_split_names(self.split_names)

    @splits.setter
    def splits(self, names: Sequence[str]) -> None:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"{self.type_name}.splits takes a list of names, got {names!r}.")
        self.split_names = encode_split_names(names)

    def path(self, *, split: str) -> str:
        """The folder of one split."""
        return get_split_uri([self], split)


class Examples(_WithSplits):
    """Serialized tf.Examples.

    <uri>/Split-<name>/*.gz               gzip TFRecords
    <uri>/columns/Split-<name>/*.arrow    the same as Arrow columns: a cache, and optional
    """

    TYPE_ANNOTATION = SystemType.DATASET
    PROPERTIES: ClassVar = {**_SPAN, "version": VERSION_PROPERTY, **_SPLIT}
    span: int
    version: int


class ExampleStatistics(_WithSplits):
    """Statistics of examples.

    <uri>/Split-<name>/FeatureStats.pb    a DatasetFeatureStatisticsList
    """

    TYPE_ANNOTATION = SystemType.STATISTICS
    PROPERTIES: ClassVar = {**_SPAN, **_SPLIT}
    span: int


class ExampleAnomalies(_WithSplits):
    """What is wrong with examples, judged by a schema.

    <uri>/Split-<name>/SchemaDiff.pb    an Anomalies message
    """

    PROPERTIES: ClassVar = {**_SPAN, **_SPLIT}
    span: int


class ExamplesDiff(Artifact):
    """How two sets of examples differ."""


class ExternalArtifact(Artifact):
    """Files that no step made, as old pipelines named them."""


class Schema(Artifact):
    """The schema of examples.

    <uri>/schema.pbtxt    a schema_pb2.Schema as text
    """


class TransformGraph(Artifact):
    """What tensorflow-transform learned.

    <uri>/transform_fn/            a SavedModel
    <uri>/transformed_metadata/    the schema of its output
    <uri>/metadata/                the schema of its input
    """


class TransformCache(Artifact):
    """What the analyzers of tensorflow-transform computed, for the next run."""


class HyperParameters(Artifact):
    """The best hyperparameters of a search, or a user's own.

    <uri>/best_hyperparameters.txt    JSON; the only file
    """


class TunerResults(Artifact):
    """Every trial of a search.

    <uri>/tuner_results.json
    """


class Model(Artifact):
    """A trained model.

    <uri>/Format-Serving/    for serving: a SavedModel, or any files that the module wrote
    <uri>/Format-TFMA/       for evaluation: an EvalSavedModel; optional
    """

    TYPE_ANNOTATION = SystemType.MODEL


class ModelRun(Artifact):
    """What training left behind besides the model: logs, events, checkpoints."""

    GATHERS_LOGS = True


class ModelEvaluation(Artifact):
    """The metrics of a model, in the files of TFMA.

    <uri>/metrics-00000-of-00001.tfrecord    MetricsForSlice, a record for each slice
          validations.tfrecord               one ValidationResult
          eval_config.json                   what was asked for
    """


class ModelBlessing(Artifact):
    """Whether a model is good enough.

    <uri>/BLESSED or <uri>/NOT_BLESSED    an empty file
    """


class InfraBlessing(Artifact):
    """Whether a model can be served.

    <uri>/INFRA_BLESSED or <uri>/INFRA_NOT_BLESSED    an empty file
    """


class PushedModel(Artifact):
    """A model that was handed to a server."""

    TYPE_ANNOTATION = SystemType.MODEL


class InferenceResult(Artifact):
    """The predictions of a model."""


class DataView(Artifact):
    """How records that are not tf.Examples are decoded."""


_IS_NULL = "__is_null__"


class ValueArtifact(Artifact, abc.ABC):
    """An artifact that is one value; its URI is a file that holds it."""

    TYPE_NAME = None  # it is no type by itself

    @classmethod
    def annotate_as(cls, type_annotation: "type[Artifact] | None" = None) -> "type[Self]":
        """This type with a base type of MLMD's, such as `standard_annotations.Model`."""
        if type_annotation is None:
            return cls
        name = f"{cls.TYPE_NAME}_{type_annotation.__name__}"
        return type(name, (cls,), {"TYPE_NAME": name, "TYPE_ANNOTATION": type_annotation})

    @abc.abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes that are stored for `value`."""

    @abc.abstractmethod
    def decode(self, data: bytes) -> Any:
        """The value that `data` stands for."""

    @property
    def is_null(self) -> bool:
        """Whether None was written."""
        return bool(self.custom_properties.get(_IS_NULL))

    def read(self) -> Any:
        """The value in the file, or None if that was written."""
        if self.is_null:
            return None
        with fileio.open(self.uri, "rb") as file:
            return self.decode(file.read())

    def write(self, value: Any) -> None:
        """Put `value` into the file; that it is None is told by a property, as in TFX."""
        self.custom_properties.pop(_IS_NULL, None)
        if value is None:
            self.custom_properties[_IS_NULL] = 1
        data = b"" if value is None else self.encode(value)
        Path(self.uri).parent.mkdir(parents=True, exist_ok=True)
        Path(self.uri).write_bytes(data.encode() if isinstance(data, str) else data)

    @property
    def value(self) -> Any:
        """The value, read from and written to the file."""
        return self.read()

    @value.setter
    def value(self, value: Any) -> None:
        self.write(value)


def _check_type(value: Any, wanted: type | tuple[type, ...], name: str) -> Any:
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise TypeError(f"A {name} artifact takes {name.lower()} values, got {value!r}.")
    return value


class String(ValueArtifact):
    """One string."""

    def encode(self, value: Any) -> bytes:
        return str(_check_type(value, str, "String")).encode()

    def decode(self, data: bytes) -> str:
        return data.decode()


class Bytes(ValueArtifact):
    """Raw bytes."""

    def encode(self, value: Any) -> bytes:
        return bytes(_check_type(value, bytes, "Bytes"))

    def decode(self, data: bytes) -> bytes:
        return data


class Integer(ValueArtifact):
    """One integer, stored as decimal digits."""

    def encode(self, value: Any) -> bytes:
        return str(_check_type(value, int, "Integer")).encode()

    def decode(self, data: bytes) -> int:
        return int(data)


class Float(ValueArtifact):
    """One float; infinities and NaN are spelled as in JavaScript."""

    def encode(self, value: Any) -> bytes:
        return json.dumps(float(_check_type(value, (float, int), "Float"))).encode()

    def decode(self, data: bytes) -> float:
        return float(data)


class Boolean(ValueArtifact):
    """True or False, stored as 1 or 0."""

    def encode(self, value: Any) -> bytes:
        return b"1" if _check_type(value, bool, "Boolean") else b"0"

    def decode(self, data: bytes) -> bool:
        return int(data) != 0


class JsonValue(ValueArtifact):
    """Anything that JSON can say."""

    def encode(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def decode(self, data: bytes) -> Any:
        return json.loads(data)


STANDARD_TYPES: dict[str, type[Artifact]] = {
    cls.TYPE_NAME: cls
    for name, cls in list(globals().items())
    if isinstance(cls, type) and issubclass(cls, Artifact) and cls.TYPE_NAME and name[0] != "_"
}
"""The classes of this file by the names of their types: to add one, write its class."""

__all__ += [cls.__name__ for cls in STANDARD_TYPES.values()]


def artifact_class(
    type_name: str, properties: dict[str, PropertyType] | None = None
) -> type[Artifact]:
    """The class of a type by its name: a standard one, or one made up for a user's own type."""
    if known := STANDARD_TYPES.get(type_name):
        return known
    if is_annotated_value(type_name):
        return type(type_name, (_find_value_type(type_name),), {"TYPE_NAME": type_name})
    declared = {name: Property(kind) for name, kind in (properties or {}).items()}
    return type(type_name, (Artifact,), {"TYPE_NAME": type_name, "PROPERTIES": declared})


def is_annotated_value(type_name: str) -> bool:
    """Whether a type is what `annotate_as` makes of a standard one: the name says it all."""
    return issubclass(_find_value_type(type_name), ValueArtifact)


def _find_value_type(type_name: str) -> type[Artifact]:
    value, annotated, _ = type_name.partition("_")
    return STANDARD_TYPES.get(value, Artifact) if annotated else Artifact


ArtifactMap = Mapping[str, list[Artifact]]
"""Artifacts by the key of an input or output."""


def every(artifacts: ArtifactMap) -> Iterator[Artifact]:
    """All artifacts under all keys."""
    return (artifact for many in artifacts.values() for artifact in many)


def encode_split_names(splits: Sequence[str]) -> str:
    """Split names as the JSON text that the `split_names` property holds."""
    return json.dumps(list(splits))


def decode_split_names(split_names: str) -> list[str]:
    """The names in a `split_names` property."""
    return list(json.loads(split_names)) if split_names else []


def get_split_uris(artifacts: Sequence[Artifact], split: str) -> list[str]:
    """The folder of `split` in each artifact."""
    uris = []
    for artifact in artifacts:
        names = decode_split_names(str(artifact.properties.get("split_names", "")))
        if split not in names:
            raise ValueError(
                f"{artifact.type_name} at {artifact.uri} has no split {split!r}; "
                f"it has {names or 'none'}. Name one of those in `splits`."
            )
        check_file_name(split, f"The name of a split of {artifact.type_name}")
        named, bare = (os.path.join(artifact.uri, name) for name in (f"Split-{split}", split))
        # Before TFX 0.24 a split's folder had the bare name.
        uris.append(bare if os.path.isdir(bare) and not os.path.isdir(named) else named)
    return uris


def get_split_uri(artifacts: Sequence[Artifact], split: str) -> str:
    """The folder of `split` in the only artifact."""
    uris = get_split_uris(artifacts, split)
    if len(uris) != 1:
        raise ValueError(f"Expected one artifact with split {split!r}, got {len(uris)}.")
    return uris[0]
