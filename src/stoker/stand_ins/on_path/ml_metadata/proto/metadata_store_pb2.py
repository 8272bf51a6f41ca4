# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's messages."""

from stoker.dsl.proto.metadata_store_pb2 import *
from stoker.dsl.proto.metadata_store_pb2 import DESCRIPTOR
