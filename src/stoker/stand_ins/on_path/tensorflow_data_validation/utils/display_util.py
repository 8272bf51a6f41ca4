# SPDX-License-Identifier: Apache-2.0
"""What notebooks show."""

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

from stoker.stand_ins.tfdv.display import (
    compare_slices,
    display_anomalies,
    display_schema,
    get_statistics_html,
    visualize_statistics,
)
from stoker.stand_ins.tfdv.frames import (
    get_anomalies_dataframe,
    get_drift_skew_dataframe,
    get_schema_dataframe,
)
