# SPDX-License-Identifier: Apache-2.0
"""What a training reports while it runs, and how it resumes (resume/).

model.fit ──▶ fit_progress ───────────────┬──▶ session ──┬──▶ run_log: metrics.jsonl, TensorBoard
Estimator.train ─▶ estimator_progress ────┤              └──▶ the channel, to the console
log_metrics ──────────────────────────────┘

batch_values has the metrics of single batches, bad_loss what is told of NaN, and fit_data what is
known of the rows that `fit` was given.
"""

from stoker.training.session import SWITCH, checkpoint, log_metrics, watch

__all__ = ["SWITCH", "checkpoint", "log_metrics", "watch"]
