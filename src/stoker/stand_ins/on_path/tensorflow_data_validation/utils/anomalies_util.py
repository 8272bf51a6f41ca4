# SPDX-License-Identifier: Apache-2.0
"""Anomalies in files, and by their reasons."""

from tensorflow_metadata.proto.v0 import anomalies_pb2

from stoker.stand_ins.tfdv.anomalous_examples import get_anomalies_slicer, remove_anomaly_types
from stoker.stand_ins.tfdv.files import (
    load_anomalies_binary,
    load_anomalies_text,
    write_anomalies_text,
)
