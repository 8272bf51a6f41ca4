# SPDX-License-Identifier: Apache-2.0
"""What a training reports while it runs, and how it resumes (resume/).

model.fit ──▶ fit_progress ───────────────┬──▶ session ──┬──▶ run_log: metrics.jsonl, TensorBoard
Estimator.train ─▶ estimator_progress ────┤              └──▶ the channel, to the console
log_metrics ──────────────────────────────┘
"""

from stoker.training.session import SWITCH, checkpoint, log_metrics, watch

__all__ = ["SWITCH", "checkpoint", "log_metrics", "watch"]
