# SPDX-License-Identifier: Apache-2.0
"""Artifacts, under their oldest path and names."""

from stoker.artifacts import Artifact, Artifact as TfxArtifact, Artifact as TfxType
from stoker.artifacts import get_split_uri
from stoker.stand_ins.tfx.artifacts import get_single_instance, get_single_uri
