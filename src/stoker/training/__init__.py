# SPDX-License-Identifier: Apache-2.0
"""What a training reports while it runs, and how it resumes (resume/).

model.fit ──▶ fit_progress ───────────────┬──▶ session ──┬──▶ run_log: metrics.jsonl, TensorBoard
Estimator.train ─▶ estimator_progress ────┤              └──▶ progress: the runner's console
log_metrics ─▶ watching ──────────────────┘
"""

from stoker.training.watching import SWITCH, checkpoint, log_metrics, watch

__all__ = ["SWITCH", "checkpoint", "log_metrics", "watch"]
