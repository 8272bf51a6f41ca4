# SPDX-License-Identifier: Apache-2.0
"""Where things are inside a Model."""

from stoker.any_python.layout import *
