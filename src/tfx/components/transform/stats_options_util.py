# SPDX-License-Identifier: Apache-2.0
"""Which statistics a user's stats_options_updater_fn is asked about."""

from stoker.transform.examples_statistics import StatsType
