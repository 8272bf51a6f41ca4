# SPDX-License-Identifier: Apache-2.0
"""Artifacts and their properties."""

from stoker.artifacts import Artifact, Property, PropertyType
from stoker.artifacts import State as ArtifactState
