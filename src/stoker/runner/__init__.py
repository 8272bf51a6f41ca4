# SPDX-License-Identifier: Apache-2.0
"""WHEN steps run: order, resolve, cache, launch, publish."""

from stoker.runner.local_dag_runner import LocalDagRunner, Run, intercept, run_step

__all__ = ["LocalDagRunner", "Run", "intercept", "run_step"]
