# SPDX-License-Identifier: Apache-2.0
"""Classes and functions by their dotted names."""

from stoker.stand_ins.tfx.name_utils import *
