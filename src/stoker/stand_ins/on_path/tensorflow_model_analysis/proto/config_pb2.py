# SPDX-License-Identifier: Apache-2.0
"""The messages of a configuration."""

from stoker.dsl.proto.eval_config_pb2 import *
