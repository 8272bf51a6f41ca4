# SPDX-License-Identifier: Apache-2.0
"""The newest artifacts, under the strategy's old name."""

from stoker.components.resolver import LatestArtifactStrategy as LatestArtifactsResolver
