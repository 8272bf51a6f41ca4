# SPDX-License-Identifier: Apache-2.0
"""Where things are inside a Model."""

from stoker.compat.path_utils import *
