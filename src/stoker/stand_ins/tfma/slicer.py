# SPDX-License-Identifier: Apache-2.0
"""Slices as TFMA's first notebooks say them: `tfma.slicer.SingleSliceSpec(columns=[…])`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec


@dataclass(frozen=True)
class SingleSliceSpec:
    """A slice for each value of some columns, or the one of these values; all examples without."""

    columns: Iterable[str] = ()
    features: Iterable[tuple[str, Any]] = ()
    spec: SlicingSpec | None = None

    def as_message(self) -> SlicingSpec:
        """The same, as an EvalConfig says it."""
        if self.spec is not None:
            return self.spec
        values = {name: str(value) for name, value in self.features}
        return SlicingSpec(feature_keys=list(self.columns), feature_values=values)
