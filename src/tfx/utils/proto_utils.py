# SPDX-License-Identifier: Apache-2.0
"""Messages to and from JSON."""

from stoker.compat.proto_utils import *
