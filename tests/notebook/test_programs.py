# SPDX-License-Identifier: Apache-2.0
"""A program that uses InteractiveContext outside of notebooks ends as other programs do."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
from tfx.components import CsvExampleGen, Trainer
from tfx.orchestration.experimental.interactive.interactive_context import InteractiveContext

context = InteractiveContext(pipeline_root="out")
example_gen = CsvExampleGen(input_base="data")
context.run(example_gen)
context.run(Trainer(module_file="module.py", examples=example_gen.outputs["examples"]))
"""


def test_a_step_that_fails_is_told_without_our_frames(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("a\n1\n2\n3\n")
    (tmp_path / "module.py").write_text("def run_fn(fn_args):\n    print(fn_args.schema)\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    own, _, told = done.stderr.partition("stoker: ")
    assert told.startswith("Trainer failed: AttributeError: fn_args has no 'schema'. Did you mean")
    assert "module.py, line 2: print(fn_args.schema)" in told
    assert own.count("Traceback") == own.count("File ") == 1
