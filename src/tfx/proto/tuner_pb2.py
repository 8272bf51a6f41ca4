# SPDX-License-Identifier: Apache-2.0
"""How a Tuner searches."""

from stoker.dsl.proto.tuner_pb2 import *
from stoker.dsl.proto.tuner_pb2 import DESCRIPTOR
