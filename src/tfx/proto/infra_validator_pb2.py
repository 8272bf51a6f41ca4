# SPDX-License-Identifier: Apache-2.0
"""How an InfraValidator tries a model."""

from stoker.dsl.proto.infra_validator_pb2 import *
from stoker.dsl.proto.infra_validator_pb2 import DESCRIPTOR
