# SPDX-License-Identifier: Apache-2.0
"""MetadataStore, and what its calls take."""

from ml_metadata import errors, proto
from ml_metadata.proto import metadata_store_pb2
from stoker.stand_ins.mlmd.store import (
    ExtraOptions,
    ListOptions,
    MetadataStore,
    OrderByField,
    downgrade_schema,
)
