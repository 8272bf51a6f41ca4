# SPDX-License-Identifier: Apache-2.0
"""Views."""

from stoker.stand_ins.tfma.view import *
