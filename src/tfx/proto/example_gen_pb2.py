# SPDX-License-Identifier: Apache-2.0
"""Which files an ExampleGen reads, and how it splits them."""

from stoker.dsl.proto.example_gen_pb2 import *
from stoker.dsl.proto.example_gen_pb2 import DESCRIPTOR
