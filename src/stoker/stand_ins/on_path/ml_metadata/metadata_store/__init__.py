# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's way to read and write a store."""

from ml_metadata.metadata_store.metadata_store import (
    ExtraOptions,
    ListOptions,
    MetadataStore,
    OrderByField,
    downgrade_schema,
)
