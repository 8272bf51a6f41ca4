# SPDX-License-Identifier: Apache-2.0
"""The types that user code finds as `tensorflow_data_validation.types`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from stoker.stand_ins.tfdv.feature_path import FeaturePath

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Example",
    "ExampleBatch",
    "FeatureName",
    "FeatureNameStatisticsType",
    "FeaturePath",
    "SliceFunction",
    "SliceKey",
    "SlicedRecordBatch",
]

FeatureName = str
FeatureNameStatisticsType = int
Example = dict[str, Any]
ExampleBatch = dict[str, Any]
SliceKey = str | None
SlicedRecordBatch = tuple[str | None, "pa.RecordBatch"]
SliceFunction = Callable[["pa.RecordBatch"], Iterable[SlicedRecordBatch]]
