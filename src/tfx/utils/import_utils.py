# SPDX-License-Identifier: Apache-2.0
"""Classes and functions from modules and files."""

from stoker.stand_ins.tfx.import_utils import *
