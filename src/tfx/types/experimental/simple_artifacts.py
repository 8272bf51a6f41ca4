# SPDX-License-Identifier: Apache-2.0
"""Artifact types with plain names, which notebooks for TFX give to their own components."""

from stoker.artifacts import Model
from stoker.stand_ins.tfx.artifacts import Dataset, File, Metrics, Statistics
