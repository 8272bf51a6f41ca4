# SPDX-License-Identifier: Apache-2.0
"""StatisticsGen as a pipeline sees it."""

from stoker.components.statistics_gen import StatisticsGen
