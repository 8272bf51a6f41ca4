# SPDX-License-Identifier: Apache-2.0
"""Artifacts that are one value."""

from stoker.artifacts import ValueArtifact
