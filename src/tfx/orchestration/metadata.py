# SPDX-License-Identifier: Apache-2.0
"""Where a pipeline keeps its records."""

from stoker.stand_ins.tfx.metadata import (
    Metadata,
    mysql_metadata_connection_config,
    sqlite_metadata_connection_config,
)
from stoker.stand_ins.tfx.missing import find_part
from stoker.metadata.config import StoreConfig as ConnectionConfigType

__getattr__ = find_part(__name__)
