# SPDX-License-Identifier: Apache-2.0
"""How a Tuner searches."""

from stoker.proto.tuner_pb2 import *
from stoker.proto.tuner_pb2 import DESCRIPTOR
