# SPDX-License-Identifier: Apache-2.0
"""Artifact types with plain names, which notebooks for TFX give to their own components."""

from stoker.artifacts import Artifact, SystemType


class File(Artifact):
    """One file."""

    TYPE_NAME = "File"


class Dataset(Artifact):
    """Data of any form."""

    TYPE_NAME = "Dataset"
    TYPE_ANNOTATION = SystemType.DATASET


class Statistics(Artifact):
    """What is known about some data."""

    TYPE_NAME = "Statistics"
    TYPE_ANNOTATION = SystemType.STATISTICS


class Metrics(Artifact):
    """How good something is."""

    TYPE_NAME = "Metrics"
    TYPE_ANNOTATION = SystemType.METRICS
