# SPDX-License-Identifier: Apache-2.0
"""Artifacts, under their oldest path and names."""

from stoker.artifacts import Artifact, Artifact as TfxArtifact, Artifact as TfxType
