# SPDX-License-Identifier: Apache-2.0
"""How to reach a Presto server."""

from stoker.dsl.proto.presto_config_pb2 import *
from stoker.dsl.proto.presto_config_pb2 import DESCRIPTOR
