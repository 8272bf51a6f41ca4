# SPDX-License-Identifier: Apache-2.0
"""StatisticsGen: examples in, statistics out."""
