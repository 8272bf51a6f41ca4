# SPDX-License-Identifier: Apache-2.0
"""What StatisticsGen does in a worker."""

from stoker.components.statistics_gen import Executor
