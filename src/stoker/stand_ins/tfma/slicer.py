# SPDX-License-Identifier: Apache-2.0
"""Slices as TFMA's first notebooks say them: `tfma.slicer.SingleSliceSpec(columns=[…])`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.evaluation.results import read_slice_key as deserialize_slice_key
from stoker.evaluation.results import slice_key as serialize_slice_key
from stoker.evaluation.slices import SliceKey as SliceKeyType
from stoker.evaluation.slices import fits

__all__ = [
    "OVERALL_SLICE_KEY",
    "SingleSliceSpec",
    "SliceKeyType",
    "deserialize_slice_key",
    "serialize_slice_key",
    "stringify_slice_key",
]

OVERALL_SLICE_KEY: SliceKeyType = ()


@dataclass(frozen=True)
class SingleSliceSpec:
    """A slice for each value of some columns, or the one of these values; all examples without."""

    columns: Iterable[str] = ()
    features: Iterable[tuple[str, Any]] = ()
    spec: SlicingSpec | None = None

    def as_message(self) -> SlicingSpec:
        """The slice as an EvalConfig has it."""
        if self.spec is not None:
            return self.spec
        values = {name: str(value) for name, value in self.features}
        return SlicingSpec(feature_keys=list(self.columns), feature_values=values)

    def is_overall(self) -> bool:
        """Whether all examples are meant."""
        return self.as_message() == SlicingSpec()

    def is_slice_applicable(self, slice_key: SliceKeyType) -> bool:
        """Whether a slice is one of those that are meant."""
        return fits(self.as_message(), slice_key)


def stringify_slice_key(slice_key: SliceKeyType) -> str:
    """A slice in TFMA's words: `color:blue`, `a_X_b:1_X_2`, or `Overall`."""
    if not slice_key:
        return "Overall"
    names, values = zip(*slice_key, strict=True)
    return f"{'_X_'.join(names)}:{'_X_'.join(map(str, values))}"
