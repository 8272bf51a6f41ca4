# SPDX-License-Identifier: Apache-2.0
"""Artifacts by key."""

from stoker.artifacts import ArtifactMap as ArtifactMultiMap
from stoker.dsl.executor import Artifacts as ArtifactMultiDict
from stoker.dsl.executor import Artifacts as ArtifactMutableMultiMap
