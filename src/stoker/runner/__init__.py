# SPDX-License-Identifier: Apache-2.0
"""WHEN steps run: order, resolve, cache, launch, publish."""

from stoker.runner.local_dag_runner import (
    BeamDagRunner,
    LocalDagRunner,
    Run,
    collect_pipelines,
    intercept,
    run_step,
)

__all__ = ["BeamDagRunner", "LocalDagRunner", "Run", "collect_pipelines", "intercept", "run_step"]
