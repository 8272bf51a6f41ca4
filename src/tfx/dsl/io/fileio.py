# SPDX-License-Identifier: Apache-2.0
"""Files on this machine."""

from stoker.any_python.fileio import *
