# SPDX-License-Identifier: Apache-2.0
"""Schemas: their features, domains and files."""

from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.stand_ins.tfdv.files import load_schema_text, write_schema_text
from stoker.stand_ins.tfdv.schemas import (
    generate_dummy_schema_with_paths,
    get_all_leaf_features,
    get_bytes_features,
    get_categorical_features,
    get_categorical_numeric_feature_types,
    get_categorical_numeric_features,
    get_domain,
    get_feature,
    get_multivalent_features,
    is_categorical_feature,
    look_up_feature,
    set_domain,
)
