# SPDX-License-Identifier: Apache-2.0
"""Values as a schema says that they are: what a signature is called with where there are no others.

int_domain, float_domain     any number between its ends
string_domain, bool_domain   any of its words; 0 and 1 for numbers
shape, value_count           how many, where a signature takes any number
no domain                    numbers from 0 to 1, and one plain word
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stoker.dsl.proto.example_pb2 import Example
from stoker.models.inputs import LAYER_SUFFIX, Arrays, make_up_example
from stoker.models.made_up import close_shape, draw_values

if TYPE_CHECKING:
    from stoker.models.saved_model import Signature

_NUM_ROWS = 8
_MOST_VALUES_EACH = 1024
_NUM_NAMED = 3
_PLAIN_WORD = b"1"


@dataclass(frozen=True, slots=True)
class SchemaValues:
    """The features of some schemas by name; of two with one name, the first schema's."""

    features: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """Each with its schema, which may have its domain."""

    @classmethod
    def of(cls, schemas: Iterable[Any]) -> "SchemaValues":
        """The values of schemas, the most important one first."""
        found: dict[str, tuple[Any, Any]] = {}
        for schema in schemas:
            for feature in schema.feature:
                found.setdefault(feature.name, (feature, schema))
        return cls(found)

    def draw_example(self, signature: "Signature", random: np.random.Generator) -> Example:
        """An example with what a signature parses."""

        def draw(name: str, dtype: str, num: int | None) -> Sequence[Any]:
            drawn = self._draw(random, name, dtype, [self._count(name) if num is None else num])
            values: list[Any] = drawn.tolist()
            return values

        return make_up_example(signature, draw)

    def draw_inputs(self, signature: "Signature") -> Arrays | None:
        """Inputs of a signature that takes features by their names; None if it knows none of them.

        TypeError for an input of a type that has no such values.
        """
        if signature.parses is not None or not any(map(self._find, signature.inputs)):
            return None
        random = np.random.default_rng(1)
        return {
            name: self._draw(
                random,
                name,
                info.dtype,
                close_shape(info.shape, num_rows=_NUM_ROWS, size=self._count(name)),
            )
            for name, info in signature.inputs.items()
        }

    def describe(self, names: Iterable[str]) -> str:
        """What is drawn for features of these names, briefly."""
        texts = [f"{name} {self._describe_one(name)}" for name in names]
        more = len(texts) - _NUM_NAMED
        return ", ".join(texts[:_NUM_NAMED]) + (f" and {more} more" if more > 0 else "")

    def _describe_one(self, name: str) -> str:
        if words := self._list_words(name):
            return f"one of {len(words)} words" if len(words) > 1 else repr(words[0])
        for kind in ("int_domain", "float_domain"):
            if ends := self._find_ends(name, kind):
                return f"{ends[0]:g} to {ends[1]:g}"
        return "plain"

    def _find(self, name: str) -> tuple[Any, Any] | None:
        return self.features.get(name) or self.features.get(name.removesuffix(LAYER_SUFFIX))

    def _count(self, name: str) -> int:
        """How many values an example has of a feature, if the schema says so; else one."""
        feature, _ = self._find(name) or (None, None)
        if feature is None:
            return 1
        if feature.HasField("shape"):
            return math.prod(dimension.size for dimension in feature.shape.dim)
        most = feature.value_count.max or feature.value_count.min
        return int(min(max(most, 1), _MOST_VALUES_EACH))

    def _draw(
        self, random: np.random.Generator, name: str, dtype: str, shape: Sequence[int]
    ) -> np.ndarray:
        words = self._list_words(name)
        if dtype == "string":
            drawn = np.empty(math.prod(shape), object)
            choice = words or [_PLAIN_WORD]
            drawn[:] = [choice[index] for index in random.integers(0, len(choice), drawn.size)]
            return drawn.reshape(shape)
        plain: np.ndarray = draw_values(random, dtype, shape, positive=True)
        if ends := self._find_ends(name, "int_domain"):
            return _fit(random.integers(*ends, shape, endpoint=True), plain.dtype)
        if (ends := self._find_ends(name, "float_domain")) and plain.dtype.kind not in "biu":
            return random.uniform(*ends, shape).astype(plain.dtype)
        return plain

    def _find_domains(self, name: str, kind: str) -> Iterator[Any]:
        feature, schema = self._find(name) or (None, None)
        if feature is None:
            return
        if feature.HasField(kind):
            yield getattr(feature, kind)
        shared = getattr(schema, kind) if kind != "bool_domain" else ()
        yield from (one for one in shared if feature.domain and one.name == feature.domain)

    def _list_words(self, name: str) -> list[bytes]:
        for domain in self._find_domains(name, "string_domain"):
            return [value.encode() for value in domain.value]
        for domain in self._find_domains(name, "bool_domain"):
            words = (domain.true_value or "true", domain.false_value or "false")
            return [word.encode() for word in words]
        return []

    def _find_ends(self, name: str, kind: str) -> tuple[Any, Any] | None:
        """The least and the greatest number; where one is open, it is the other and a bit."""
        for domain in self._find_domains(name, kind):
            has_min, has_max = (
                domain.HasField(end) and math.isfinite(getattr(domain, end))
                for end in ("min", "max")
            )
            if not has_min and not has_max:
                return None
            least = domain.min if has_min else domain.max - 1
            return least, domain.max if has_max else least + 1
        return None


def _fit(numbers: np.ndarray, dtype: Any) -> np.ndarray:
    """Whole numbers in another type, whose range may be smaller."""
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        numbers = np.clip(numbers, max(limits.min, -(1 << 63)), min(limits.max, (1 << 63) - 1))
    return np.asarray(numbers).astype(dtype)
