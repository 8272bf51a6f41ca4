# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAVY = ["tensorflow", "apache_beam", "ray", "pyarrow", "sqlalchemy", "numpy", "tfx_bsl"]
REPORT = f"""
import json, sys, time
print(json.dumps([time.process_time(), [name for name in {HEAVY} if name in sys.modules]]))
"""
PIPELINE = """
from tfx import v1 as tfx
example_gen = tfx.components.CsvExampleGen(input_base="data")
examples, module_file = example_gen.outputs["examples"], "module.py"
schema = tfx.components.ImportSchemaGen(schema_file="schema.pbtxt").outputs["schema"]
transform = tfx.components.Transform(examples=examples, schema=schema, module_file=module_file)
trainer = tfx.components.Trainer(examples=examples, module_file=module_file)
tfx.dsl.Pipeline("taxi", "root", components=[example_gen, schema.producer, transform, trainer])
"""
EVERYTHING_PROMISED = "from stoker import *"


def run(code: str) -> tuple[float, list[str]]:
    """The CPU seconds of a fresh interpreter that runs `code`, and the heavy modules it loaded."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", f"{code}\n{REPORT}"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    seconds, heavy = json.loads(done.stdout)
    return seconds, heavy


@pytest.mark.parametrize(
    "code",
    [
        "import stoker",
        EVERYTHING_PROMISED,
        "from tfx import v1",
        "from tfx.components.trainer.executor import GenericExecutor",
        "from tfx.types import standard_component_specs",
        "from tfx.utils import io_utils",
        PIPELINE,
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert run(code)[1] == []


@pytest.mark.parametrize("code", ["import stoker", "from tfx import v1"])
def test_the_import_takes_less_than_a_third_of_a_second(code):
    nothing = min(run("pass")[0] for _ in range(2))

    assert min(run(code)[0] for _ in range(3)) - nothing < 0.3
