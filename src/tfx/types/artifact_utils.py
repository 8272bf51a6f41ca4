# SPDX-License-Identifier: Apache-2.0
"""Artifacts out of the lists that executors are given."""

from stoker.stand_ins.tfx.artifact_utils import *
