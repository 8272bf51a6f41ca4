# SPDX-License-Identifier: Apache-2.0
"""What files are named by, and the error where there is none."""

from stoker.any_python.fileio import NotFoundError, PathType
