# SPDX-License-Identifier: Apache-2.0
"""Where a Pusher puts a model."""

from stoker.dsl.proto.pusher_pb2 import *
from stoker.dsl.proto.pusher_pb2 import DESCRIPTOR
