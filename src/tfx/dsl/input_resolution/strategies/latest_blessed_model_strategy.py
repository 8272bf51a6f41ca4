# SPDX-License-Identifier: Apache-2.0
"""The latest blessed model."""

from stoker.components.resolver import LatestBlessedModelStrategy
