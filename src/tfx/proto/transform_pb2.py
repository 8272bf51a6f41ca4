# SPDX-License-Identifier: Apache-2.0
"""What Transform does with which splits."""

from stoker.dsl.proto.transform_pb2 import *
from stoker.dsl.proto.transform_pb2 import DESCRIPTOR
