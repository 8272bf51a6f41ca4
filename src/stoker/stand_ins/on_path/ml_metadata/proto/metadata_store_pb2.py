# SPDX-License-Identifier: Apache-2.0
"""The messages that say where a store is."""

from stoker.dsl.proto.connection_config_pb2 import *
