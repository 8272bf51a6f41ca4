# SPDX-License-Identifier: Apache-2.0
"""JSON."""

from stoker.compat.json_utils import *
