# SPDX-License-Identifier: Apache-2.0
"""Artifacts out of the lists that executors are given."""

from stoker.artifacts import decode_split_names, encode_split_names, get_split_uri, get_split_uris
from stoker.stand_ins.tfx.artifacts import (
    ARTIFACT_VERSION as _ARTIFACT_VERSION_FOR_ANOMALIES_UPDATE,
    ARTIFACT_VERSION as _ARTIFACT_VERSION_FOR_MODEL_UPDATE,
    ARTIFACT_VERSION as _ARTIFACT_VERSION_FOR_SPLIT_UPDATE,
    ARTIFACT_VERSION as _ARTIFACT_VERSION_FOR_STATS_UPDATE,
    get_single_instance,
    get_single_uri,
    is_artifact_version_older_than,
)
