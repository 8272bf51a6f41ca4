# SPDX-License-Identifier: Apache-2.0
"""The newest artifacts."""

from stoker.components.resolver import LatestArtifactStrategy
