# SPDX-License-Identifier: Apache-2.0
"""What a BulkInferrer asks a model, and what it writes."""

from stoker.dsl.proto.bulk_inferrer_pb2 import *
from stoker.dsl.proto.bulk_inferrer_pb2 import DESCRIPTOR
