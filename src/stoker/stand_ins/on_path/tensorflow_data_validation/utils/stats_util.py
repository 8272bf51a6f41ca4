# SPDX-License-Identifier: Apache-2.0
"""Statistics: their slices, features and files."""

from tensorflow_metadata.proto.v0 import statistics_pb2

from stoker.stand_ins.tfdv.files import (
    load_statistics,
    load_stats_binary,
    load_stats_text,
    load_stats_tfrecord,
    write_stats_text,
)
from stoker.stand_ins.tfdv.slices import (
    DatasetListView,
    DatasetView,
    FeatureView,
    get_custom_stats,
    get_feature_stats,
    get_slice_stats,
)
