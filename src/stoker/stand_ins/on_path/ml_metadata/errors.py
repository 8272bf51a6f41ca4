# SPDX-License-Identifier: Apache-2.0
"""What ML Metadata raises."""

from stoker.stand_ins.mlmd.errors import *
