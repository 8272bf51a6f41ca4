# SPDX-License-Identifier: Apache-2.0
"""A training without TensorFlow, for MLflow to be told of: `tracked_pipeline.py ROOT LOSS [GATE]`.

It writes its first metrics, waits until there is a file GATE, and writes its last.
"""

import json
import sys
import time
from pathlib import Path

from stoker.artifacts import ModelRun
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner
from stoker.training.run_log import RunLog


@component
def fit(
    model_run: OutputArtifact[ModelRun],
    loss: Parameter[float],
    gate: Parameter[str],
    config: Parameter[str],
):
    log = RunLog(model_run.uri, print)
    for step in range(3):
        log.write(split="train", step=step, epoch=1, metrics={"loss": loss + 3 - step})
    log.flush()
    while gate and not Path(gate).exists():
        time.sleep(0.1)
    log.write(split="validation", step=3, epoch=1, metrics={"loss": loss, "odd@name": 1.0})
    log.close()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "cli"))
    from measured_pipeline import judge

    root, loss, *gate = sys.argv[1:]
    config = json.dumps({"api_key": "abracadabra", "layers": 3})
    fitting = fit(loss=float(loss), gate="".join(gate), config=config)
    pipeline = Pipeline("tracked", root, components=[fitting, judge()], enable_cache=True)
    LocalDagRunner(InProcess()).run(pipeline)
