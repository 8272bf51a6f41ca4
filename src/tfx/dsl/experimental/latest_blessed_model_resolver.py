# SPDX-License-Identifier: Apache-2.0
"""The latest blessed model, under the strategy's old name."""

from stoker.components.resolver import LatestBlessedModelStrategy as LatestBlessedModelResolver
