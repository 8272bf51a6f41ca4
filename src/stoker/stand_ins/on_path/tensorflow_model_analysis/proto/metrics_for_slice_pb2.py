# SPDX-License-Identifier: Apache-2.0
"""The messages of results."""

from stoker.dsl.proto.evaluation_pb2 import *
