# SPDX-License-Identifier: Apache-2.0
"""What views show."""

from stoker.stand_ins.tfma.results import EvalResult, EvalResults, SlicedMetrics, SlicedPlots
