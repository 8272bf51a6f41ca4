# SPDX-License-Identifier: Apache-2.0
"""What the model check calls a signature with: a few eval examples, or made-up ones."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from stoker.artifacts import Artifact, decode_split_names, get_split_uris
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData
from stoker.models.inputs import Arrays, Misfit, find_fitting, list_values
from stoker.models.schema_values import SchemaValues
from stoker.statistics.data_schema import read_schema

if TYPE_CHECKING:
    from stoker.models.saved_model import Signature

_NUM_LOOKED_AT = 100
NUM_CALLED = 8
_TF_EXAMPLE = "FORMAT_TF_EXAMPLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalExamples:
    """The first eval examples, and what the transform graph says about them."""

    examples: list[Example] = field(default_factory=list)
    why_empty: str = "the eval split has no examples"
    has_transform_graph: bool = False
    raw_schema: Any = None
    transformed_names: frozenset[str] = frozenset()
    rows_of_fit: Arrays = field(default_factory=dict)
    """A few rows of what `fit` was given, by the names of its inputs or their places."""
    schema_values: SchemaValues = field(default_factory=SchemaValues)

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
        raw_names = {feature.name for feature in self.raw_schema.feature} if self.raw_schema else ()
        return bool(raw_names) and not set(names) <= set(raw_names)

    def choose(self, signature: "Signature", size: int | None) -> list[Example]:
        """A few that a signature takes, or exactly `size`, over and over if there are fewer."""
        if not self.examples:
            raise Misfit(self.why_empty)
        fitting = find_fitting(signature, self.examples, exact=True)
        if size is None:
            return fitting[:NUM_CALLED]
        return list(itertools.islice(itertools.cycle(fitting), size))

    def make_up(self, signature: "Signature", num: int) -> list[Example]:
        """Raw examples with a plausible value for every feature that a signature parses."""
        random = np.random.default_rng(1)
        return [self.schema_values.draw_example(signature, random) for _ in range(num)]


def read_eval_examples(
    artifacts: Sequence[Artifact],
    splits: Sequence[str],
    transform_graph: str | None,
    rows_of_fit: Arrays | None = None,
    schema: Any = None,
) -> EvalExamples:
    """The first examples of some splits, beside the folder of a transform graph.

    `schema` is the one that the Trainer was given, if it was.
    """
    raw, transformed = (
        read_schema(path)
        if transform_graph
        and os.path.exists(path := os.path.join(transform_graph, name, "schema.pbtxt"))
        else None
        for name in ("metadata", "transformed_metadata")
    )
    given: dict[str, Any] = {
        "has_transform_graph": transform_graph is not None,
        "raw_schema": raw,
        "rows_of_fit": rows_of_fit or {},
        "schema_values": SchemaValues.of(filter(None, (raw, schema, transformed))),
        "transformed_names": frozenset(one.name for one in transformed.feature)
        if transformed
        else frozenset(),
    }
    try:
        records = itertools.islice(_read(artifacts, splits), _NUM_LOOKED_AT)
        return EvalExamples(examples=[Example.FromString(one) for one in records], **given)
    except (BadData, DecodeError) as error:
        return EvalExamples(why_empty=f"the eval examples could not be read: {error}", **given)


def _read(artifacts: Iterable[Artifact], splits: Iterable[str]) -> Iterator[bytes]:
    for artifact in artifacts:
        payload = artifact.get_string_custom_property("payload_format") or _TF_EXAMPLE
        if payload != _TF_EXAMPLE:
            raise BadData(f"they are {payload}")
        known = decode_split_names(str(artifact.properties.get("split_names", "")))
        for split in splits:
            if split in known:
                for path in matching_files(get_split_uris([artifact], split)):
                    yield from read_records(path)


def show_features(example: Example, names: Iterable[str]) -> str:
    """The features of an example that matter, briefly."""
    features = [f"{name}={_abbreviate(list_values(example, name))}" for name in names]
    return ", ".join([*features[:6], "…"] if len(features) > 6 else features)


def _abbreviate(values: list[Any]) -> str:
    texts = [repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…" for value in values]
    return f"[{', '.join(texts[:4])}{', …' if len(texts) > 4 else ''}]"
