# SPDX-License-Identifier: Apache-2.0
"""`tfma.addons`, which TFMA itself has dropped after 0.46."""

from types import SimpleNamespace

from stoker.stand_ins.tfma import fairness as _fairness
from stoker.stand_ins.tfma import metrics as _metrics
from stoker.stand_ins.tfma import post_export_metrics as _post_export_metrics

fairness = SimpleNamespace(
    view=SimpleNamespace(widget_view=_fairness),
    metrics=SimpleNamespace(
        fairness_indicators=_metrics, FairnessIndicators=_metrics.FairnessIndicators
    ),
    post_export_metrics=SimpleNamespace(fairness_indicators=_post_export_metrics),
)
