# SPDX-License-Identifier: Apache-2.0
"""Which spans of the data a step takes."""

from stoker.dsl.proto.range_config_pb2 import *
from stoker.dsl.proto.range_config_pb2 import DESCRIPTOR
