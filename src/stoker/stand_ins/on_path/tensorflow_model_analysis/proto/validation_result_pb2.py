# SPDX-License-Identifier: Apache-2.0
"""The messages of a verdict."""

from stoker.dsl.proto.evaluation_pb2 import *
