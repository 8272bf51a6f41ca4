# SPDX-License-Identifier: Apache-2.0
"""Artifacts, channels and the tables of components."""

from stoker.artifacts import Artifact, Property, ValueArtifact
from stoker.dsl import Channel, ComponentSpec
from stoker.dsl import Channel as BaseChannel
