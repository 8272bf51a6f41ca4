# SPDX-License-Identifier: Apache-2.0
"""What exports them."""

from stoker.any_python.eval_export import *
