# SPDX-License-Identifier: Apache-2.0
"""Artifacts, channels and the tables of components."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.artifacts import Artifact, Property, ValueArtifact
from stoker.dsl import Channel, ComponentSpec
from stoker.dsl import BaseComponent, Channel as BaseChannel, Channel as OutputChannel

__getattr__ = find_part(__name__)
