# SPDX-License-Identifier: Apache-2.0
"""Artifacts out of the lists that executors are given."""

from stoker.compat.artifact_utils import *
