# SPDX-License-Identifier: Apache-2.0
"""A pipeline whose data says what no page should do, without TensorFlow."""

import json
import sys
from pathlib import Path

from stoker.artifacts import ModelRun
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_validator import ExampleValidator
from stoker.components.schema_gen import SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

SCRIPT = "<script>document.title='owned'</script>"
IMAGE = '" onerror="document.title=1" x="'
LINK = "javascript:document.title='owned'"
TURNED = "\u202egnp.exe\u200f"
HOSTILE = (SCRIPT, IMAGE, LINK, TURNED)


@component
def train(model_run: OutputArtifact[ModelRun], label: Parameter[str]):
    """Tells metrics whose names come from data, and prints what data says."""
    print(label, flush=True)
    with open(Path(model_run.uri, "metrics.jsonl"), "w") as lines:
        for step in range(1, 6):
            metrics = dict.fromkeys(HOSTILE, 1 / step)
            for series in ("train", SCRIPT):
                record = {"step": step, "split": series, "series": series, "metrics": metrics}
                lines.write(json.dumps(record) + "\n")
    if label == "fail":
        raise ValueError(" ".join(HOSTILE))


def write_data(folder):
    folder.mkdir(parents=True)
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    rows = [",".join(quoted)] * 40
    Path(folder, "data.csv").write_text("\n".join([",".join(quoted), *rows]) + "\n")


def run_hostile(root, label=SCRIPT, report=False):
    data = Path(root).parent / "data"
    if not data.exists():
        write_data(data)
    examples = CsvExampleGen(input_base=str(data))
    statistics = StatisticsGen(examples=examples.outputs["examples"])
    schema = SchemaGen(statistics=statistics.outputs["statistics"])
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    steps = [examples, statistics, schema, validator, train(label=label)]
    pipeline = Pipeline("<b>hostile", str(root), components=steps, enable_cache=True)
    return LocalDagRunner(InProcess(), report=report).run(pipeline)


if __name__ == "__main__":
    run_hostile(sys.argv[1])
