# SPDX-License-Identifier: Apache-2.0
"""Pipelines that are packages, or that are started from another folder than their own."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

STEPS = """
from tfx.v1.dsl.components import OutputDict, Parameter, component

from . import numbers


@component
def make(start: Parameter[int]) -> OutputDict(number=int):
  return {'number': start + numbers.STEP}
"""
PIPELINE = """
import os

from tfx import v1 as tfx
from tfx.types import artifact

from . import steps
from .numbers import STEP


class Tally(artifact.Artifact):
  TYPE_NAME = 'Tally'


@tfx.dsl.components.component
def count(
    number: int,
    examples: tfx.dsl.components.InputArtifact[tfx.types.standard_artifacts.Examples],
    tally: tfx.dsl.components.OutputArtifact[Tally],
):
  files = len(os.listdir(os.path.join(examples.uri, 'Split-train')))
  with tfx.dsl.io.fileio.open(os.path.join(tally.uri, 'tally.txt'), 'w') as f:
    f.write(f'{number + STEP} {files} {examples.get_int_custom_property("span")}')


def create():
  example_gen = tfx.components.CsvExampleGen(input_base='data')
  made = steps.make(start=1)
  counted = count(number=made.outputs['number'], examples=example_gen.outputs['examples'])
  return tfx.dsl.Pipeline(
      pipeline_name='shop', pipeline_root='out', components=[example_gen, made, counted])


if __name__ == '__main__':
  tfx.orchestration.LocalDagRunner().run(create())
"""


@pytest.fixture
def project(tmp_path):
    package = tmp_path / "shop"
    (package / "data").mkdir(parents=True)
    (package / "data" / "data.csv").write_text("x\n" + "1\n" * 20)
    (package / "__init__.py").touch()
    (package / "numbers.py").write_text("STEP = 10\n")
    (package / "steps.py").write_text(STEPS)
    (package / "pipeline.py").write_text(PIPELINE)
    (package / "__main__.py").write_text(
        "from tfx import v1 as tfx\n\nfrom shop.pipeline import create\n\n"
        "if __name__ == '__main__':\n  tfx.orchestration.LocalDagRunner().run(create())\n"
    )
    return tmp_path


@pytest.mark.parametrize(("module", "is_namespace"), [("shop.pipeline", True), ("shop", False)])
def test_a_package_is_run_by_its_name(project, module, is_namespace):
    if is_namespace:
        (project / "shop" / "__init__.py").unlink()
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=project,
        env={**os.environ, "PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (tally,) = (project / "out" / "count" / "tally").glob("*/tally.txt")
    assert tally.read_text() == "21 1 0"
