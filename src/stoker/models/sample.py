# SPDX-License-Identifier: Apache-2.0
"""What the model check calls a signature with: a few eval examples, or made-up ones."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from stoker.artifacts import Artifact, decode_split_names, get_split_uris
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.example_pb2 import Example
from stoker.dsl.proto.trainer_pb2 import EvalArgs
from stoker.errors import BadData
from stoker.statistics.data_schema import read_schema

if TYPE_CHECKING:
    from stoker.models.saved_model import ParsedFeature, TensorInfo

__all__ = ["Misfit", "Sample", "batch_of", "read_sample", "show"]

_NUM_LOOKED_AT = 100
_NUM_CALLED = 8
_TF_EXAMPLE = "FORMAT_TF_EXAMPLE"
_DTYPES = {"bytes_list": "string", "float_list": "float32", "int64_list": "int64"}
_LISTS = {dtype: kind for kind, dtype in _DTYPES.items()}
_ZEROS = {"string": b"", "float32": 0.0, "int64": 0}


class Misfit(Exception):
    """The examples at hand are not what a signature takes; the message says why.

    `is_to_blame` is set where the signature should have taken them.
    """

    def __init__(self, message: str, *, is_to_blame: bool = False) -> None:
        super().__init__(message)
        self.is_to_blame = is_to_blame


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The first eval examples, and what the transform graph says about them."""

    examples: list[Example] = field(default_factory=list)
    why_empty: str = "the eval split has no examples"
    has_transform_graph: bool = False
    raw_schema: Any = None
    transformed_names: frozenset[str] = frozenset()

    @property
    def is_transformed(self) -> bool:
        """Whether the examples are, or may be, the output of the transform graph."""
        names = {name for example in self.examples for name in example.features.feature}
        return self.has_transform_graph and names <= (self.transformed_names or names)

    def is_fair(self, names: Iterable[str]) -> bool:
        """Whether a call with features of these names has to work.

        Not if they may be raw features while the examples are transformed.
        """
        if not self.is_transformed:
            return True
        return bool(self.raw_schema) and not set(names) <= self._raw_names

    @property
    def _raw_names(self) -> set[str]:
        return {feature.name for feature in self.raw_schema.feature}

    def fitting(self, wanted: Mapping[str, "ParsedFeature"]) -> list[Example]:
        """The examples that have what a signature parses."""
        if not self.examples:
            raise Misfit(self.why_empty)
        problems = [_problem(example, wanted) for example in self.examples]
        if all(problems):
            raise Misfit(str(problems[0]), is_to_blame=not self.has_transform_graph)
        pairs = zip(self.examples, problems, strict=True)
        return _finite([example for example, problem in pairs if problem is None], wanted)

    def columns(
        self, wanted: Mapping[str, "TensorInfo"], batch_size: int | None = None
    ) -> tuple[list[Example], dict[str, Any]]:
        """Examples, and their features by name as arrays of the types and shapes asked for."""
        if not self.examples:
            raise Misfit(self.why_empty)
        having = [one for one in self.examples if all(_values(one, name) for name in wanted)]
        if not having:
            names = {name for example in self.examples for name in example.features.feature}
            missing = sorted(set(wanted) - names) or sorted(wanted)
            raise Misfit(f"the eval examples have no feature {missing[0]!r}")
        chosen = batch_of(_finite(having, wanted), batch_size)
        return chosen, {name: _column(chosen, name, info) for name, info in wanted.items()}

    def made_up(self, wanted: Mapping[str, "ParsedFeature"]) -> Example:
        """A raw example with a plausible value for every feature that a signature parses."""
        example = Example()
        for name, feature in wanted.items():
            value = self._plausible(name, feature.dtype)
            values = getattr(example.features.feature[name], _LISTS[feature.dtype]).value
            values.extend([value] * (1 if feature.size is None else feature.size))
        return example

    def _plausible(self, name: str, dtype: str) -> Any:
        """The first value of the feature's domain in the raw schema, or else zero."""
        for feature in self.raw_schema.feature if self.raw_schema else ():
            if feature.name != name:
                continue
            if dtype == "int64":
                return feature.int_domain.min
            words = list(feature.string_domain.value)
            for domain in self.raw_schema.string_domain:
                words += domain.value if domain.name == feature.domain else []
            if dtype == "string" and words:
                return words[0].encode()
        return _ZEROS[dtype]


def read_sample(
    input_dict: Mapping[str, list[Artifact]], exec_properties: Mapping[str, Any]
) -> Sample:
    """The first examples of the splits that the Trainer evaluates on."""
    args = json_format.Parse(exec_properties.get("eval_args") or "{}", EvalArgs())
    artifacts = input_dict.get("examples") or []
    graphs = [one.uri for one in input_dict.get("transform_graph") or []]
    schemas = {
        name: path
        for name in ("metadata", "transformed_metadata")
        for uri in graphs
        if os.path.exists(path := os.path.join(uri, name, "schema.pbtxt"))
    }
    given: dict[str, Any] = {"has_transform_graph": bool(graphs)}
    if "metadata" in schemas:
        given["raw_schema"] = read_schema(schemas["metadata"])
    if "transformed_metadata" in schemas:
        features = read_schema(schemas["transformed_metadata"]).feature
        given["transformed_names"] = frozenset(feature.name for feature in features)
    try:
        records = _records(artifacts, args.splits or ["eval"])
        given["examples"] = [
            Example.FromString(record) for record in itertools.islice(records, _NUM_LOOKED_AT)
        ]
    except (BadData, DecodeError) as error:
        given["why_empty"] = f"the eval examples could not be read: {error}"
    return Sample(**given)


def _records(artifacts: Iterable[Artifact], splits: Iterable[str]) -> Iterator[bytes]:
    for artifact in artifacts:
        payload = artifact.get_string_custom_property("payload_format") or _TF_EXAMPLE
        if payload != _TF_EXAMPLE:
            raise BadData(f"they are {payload}")
        known = decode_split_names(str(artifact.properties.get("split_names", "")))
        for split in splits:
            if split in known:
                for path in matching_files(get_split_uris([artifact], split)):
                    yield from read_records(path)


def batch_of(examples: list[Example], size: int | None = None) -> list[Example]:
    """The first examples: a few, or exactly `size`, over and over if there are fewer."""
    if size is None:
        return examples[:_NUM_CALLED]
    return list(itertools.islice(itertools.cycle(examples), size))


def _finite(examples: list[Example], names: Iterable[str]) -> list[Example]:
    """Those without NaN or infinity, which no model has to make sense of."""
    found = [one for one in examples if all(map(_is_finite, (_values(one, n) for n in names)))]
    if not found:
        raise Misfit("every eval example has a value that is not finite")
    return found


def _is_finite(values: list[Any]) -> bool:
    return all(isinstance(value, bytes) or math.isfinite(value) for value in values)


def _values(example: Example, name: str) -> list[Any]:
    feature = example.features.feature.get(name)
    kind = feature and feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def _dtype(example: Example, name: str) -> str:
    return _DTYPES[str(example.features.feature[name].WhichOneof("kind"))]


def _problem(example: Example, wanted: Mapping[str, "ParsedFeature"]) -> str | None:
    """What in an example the parser would refuse."""
    for name, feature in wanted.items():
        found = example.features.feature.get(name)
        if found is None or found.WhichOneof("kind") is None:
            if feature.required:
                return f"the eval examples have no feature {name!r}, which it requires"
        elif _dtype(example, name) != feature.dtype:
            return (
                f"the feature {name!r} is {_dtype(example, name)} in the eval examples, and it "
                f"parses {feature.dtype}"
            )
        elif feature.size not in (None, size := len(_values(example, name))):
            return (
                f"the feature {name!r} has {size} values in an eval example, and it parses "
                f"{feature.size}"
            )
    return None


def _column(examples: list[Example], name: str, info: "TensorInfo") -> Any:
    rows = [_values(example, name) for example in examples]
    found = _dtype(examples[0], name)
    if len(set(map(len, rows))) > 1 or any(_dtype(one, name) != found for one in examples):
        raise Misfit(f"the feature {name!r} differs in length or type from example to example")
    if (found == "string") != (info.dtype == "string"):
        raise Misfit(f"{name!r} takes {info.dtype}, and the feature is {found}")
    array = np.array(rows, object if found == "string" else found)
    return _reshaped(_cast(array, name, info.dtype), name, info.shape)


def _cast(array: Any, name: str, dtype: str) -> Any:
    if dtype == "string":
        return array
    try:
        with np.errstate(all="ignore"):
            cast = array.astype(dtype)
    except TypeError as error:
        raise Misfit(f"{name!r} takes {dtype}, which no feature is") from error
    if not np.array_equal(cast.astype(array.dtype), array):
        raise Misfit(f"{name!r} takes {dtype}, which cannot hold what the feature has")
    return cast


def _reshaped(array: Any, name: str, shape: list[int] | None) -> Any:
    if shape is None:
        return array
    wanted = (len(array), *shape[1:])
    if not shape or shape[0] not in (-1, len(array)) or wanted.count(-1) > 1:
        raise Misfit(f"{name!r} has the shape {shape}, which is no batch of examples")
    try:
        return array.reshape(wanted)
    except ValueError as error:
        raise Misfit(
            f"{name!r} has the shape {shape}, and the feature {array.shape[1]} values"
        ) from error


def show(example: Example, names: Iterable[str]) -> str:
    """The features of an example that matter, briefly."""
    features = [f"{name}={_brief(_values(example, name))}" for name in names]
    return ", ".join([*features[:6], "…"] if len(features) > 6 else features)


def _brief(values: list[Any]) -> str:
    texts = [repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…" for value in values]
    return f"[{', '.join(texts[:4])}{', …' if len(texts) > 4 else ''}]"
