# SPDX-License-Identifier: Apache-2.0
"""Artifacts that are known only when a pipeline runs."""

from stoker.dsl.placeholders import ArtifactPlaceholder, input, output
