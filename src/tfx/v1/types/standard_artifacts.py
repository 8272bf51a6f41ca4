# SPDX-License-Identifier: Apache-2.0
"""The types of artifacts that the standard steps read and write."""

from tfx.types.standard_artifacts import *
