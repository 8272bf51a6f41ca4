# SPDX-License-Identifier: Apache-2.0
"""JSON."""

from stoker.stand_ins.tfx.json_utils import *
