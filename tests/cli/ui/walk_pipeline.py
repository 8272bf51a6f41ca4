# SPDX-License-Identifier: Apache-2.0
"""A pipeline to look at in a browser: real data, and a training that goes on as long as wanted.

WALK_STOP=FILE python walk_pipeline.py ROOT RATE    goes on until there is such a file
"""

import json
import math
import os
import random
import sys
import time
from pathlib import Path

from stoker.any_python.launcher_link import report
from stoker.artifacts import Examples, Model, ModelRun, Schema
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_validator import ExampleValidator
from stoker.components.schema_gen import SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.dsl import InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.launchers.processes import Processes
from stoker.runner import LocalDagRunner

DATA = Path(__file__).parents[3] / "examples" / "penguin" / "data"
NUM_STEPS = 60
STOP = "WALK_STOP"


@component
def Trainer(
    examples: InputArtifact[Examples],
    schema: InputArtifact[Schema],
    model: OutputArtifact[Model],
    model_run: OutputArtifact[ModelRun],
    learning_rate: Parameter[float],
):
    """Pretends to learn, at a pace at which one can watch."""
    stop = os.environ.get(STOP, "")
    noise = random.Random(1)
    with open(os.path.join(model_run.uri, "metrics.jsonl"), "w", buffering=1) as lines:
        for step in range(1, NUM_STEPS + 1):
            loss = 0.9 * math.exp(-step * learning_rate) + 0.08 + 0.04 * noise.random()
            for series, more in (("train_epochs", 0.0), ("validation", 0.03)):
                metrics = {"loss": loss + more, "accuracy": 1 - (loss + more) / 2}
                record = {"step": step * 10, "split": series, "series": series, "metrics": metrics}
                lines.write(json.dumps(record) + "\n")
            print(f"epoch {step}: loss {loss:.4f}", flush=True)
            report(
                {
                    "kind": "progress",
                    "step": step * 10,
                    "steps": NUM_STEPS * 10,
                    "seconds_left": (NUM_STEPS - step) * 0.25,
                    "metrics": {"loss": loss},
                }
            )
            if stop and not os.path.exists(stop):
                time.sleep(0.25)
    Path(model.uri, "weights.bin").write_bytes(bytes(20_000))


@component
def Pusher(model: InputArtifact[Model]):
    """Reads the model."""


def run_walk(root, learning_rate, launcher=None, data=DATA):
    examples = CsvExampleGen(input_base=str(data))
    statistics = StatisticsGen(examples=examples.outputs["examples"])
    schema = SchemaGen(statistics=statistics.outputs["statistics"])
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    trainer = Trainer(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        learning_rate=learning_rate,
    )
    pusher = Pusher(model=trainer.outputs["model"])
    steps = [examples, statistics, schema, validator, trainer, pusher]
    pipeline = Pipeline("penguin", str(root), components=steps, enable_cache=True)
    return LocalDagRunner(launcher or InProcess()).run(pipeline)


if __name__ == "__main__":
    run_walk(sys.argv[1], float(sys.argv[2]), launcher=Processes())
