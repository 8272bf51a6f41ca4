# SPDX-License-Identifier: Apache-2.0
"""Base types of artifacts."""

from stoker.artifacts import Model
from stoker.stand_ins.tfx.artifacts import Dataset, Metrics, Statistics
