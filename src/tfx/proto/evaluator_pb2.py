# SPDX-License-Identifier: Apache-2.0
"""Slices as the Evaluator of the first years took them."""

from stoker.dsl.proto.evaluator_pb2 import *
from stoker.dsl.proto.evaluator_pb2 import DESCRIPTOR
