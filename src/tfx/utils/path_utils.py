# SPDX-License-Identifier: Apache-2.0
"""Where things are inside a Model."""

from stoker.stand_ins.tfx.path_utils import *
