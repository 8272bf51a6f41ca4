# SPDX-License-Identifier: Apache-2.0
"""How long a Trainer trains and evaluates, and on which splits."""

from stoker.dsl.proto.trainer_pb2 import *
from stoker.dsl.proto.trainer_pb2 import DESCRIPTOR
