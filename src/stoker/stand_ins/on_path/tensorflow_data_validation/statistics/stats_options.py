# SPDX-License-Identifier: Apache-2.0
"""What is counted."""

from stoker.stand_ins.tfdv.stats_options import StatsOptions
