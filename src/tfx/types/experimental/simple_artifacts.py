# SPDX-License-Identifier: Apache-2.0
"""Artifact types with plain names."""

from stoker.stand_ins.tfx.simple_artifacts import Dataset, File, Metrics, Statistics
