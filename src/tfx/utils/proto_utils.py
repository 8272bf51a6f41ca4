# SPDX-License-Identifier: Apache-2.0
"""Messages to and from JSON."""

from stoker.stand_ins.tfx.proto_utils import *
