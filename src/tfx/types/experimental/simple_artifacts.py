# SPDX-License-Identifier: Apache-2.0
"""Artifact types with plain names."""

from stoker.compat.simple_artifacts import Dataset, File, Metrics, Statistics
