# SPDX-License-Identifier: Apache-2.0
"""Whole files in one call."""

from stoker.compat.io_utils import *
