# SPDX-License-Identifier: Apache-2.0
"""Files on this machine."""

from stoker.compat.fileio import *
