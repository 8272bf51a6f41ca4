# SPDX-License-Identifier: Apache-2.0
"""Users' own steps, in the pipeline file and in a package, started in every way that TFX offers."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Optional

import pytest
from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import (
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
)
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.components.common.resolver import ResolverStrategy
from tfx.types.artifact import Property, PropertyType

# A step as a class, the older way: a spec, an executor, a component around them.
STEPS = '''
import json
import os
from typing import Any, Dict, List, Optional

from absl import flags
from tfx import types
from tfx.dsl.components.base import base_beam_executor
from tfx.dsl.components.base import base_component
from tfx.dsl.components.base import base_executor
from tfx.dsl.components.base import executor_spec
from tfx.types import artifact_utils
from tfx.types import standard_artifacts
from tfx.types.artifact import Artifact, Property, PropertyType
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter
from tfx.utils import io_utils

flags.DEFINE_string('greeting', 'hello', 'Read in the executor.')
FLAGS = flags.FLAGS


class Counts(Artifact):
  """How many rows each split has."""
  TYPE_NAME = 'Counts'
  PROPERTIES = {
      'total': Property(type=PropertyType.INT),
      'unit': Property(type=PropertyType.STRING),
  }


class CounterExecutor(base_executor.BaseExecutor):

  def Do(self, input_dict: Dict[str, List[types.Artifact]],
         output_dict: Dict[str, List[types.Artifact]],
         exec_properties: Dict[str, Any]) -> None:
    self._log_startup(input_dict, output_dict, exec_properties)
    examples = artifact_utils.get_single_instance(input_dict['examples'])
    counts = {}
    for split in artifact_utils.decode_split_names(examples.split_names):
      uri = artifact_utils.get_split_uri(input_dict['examples'], split)
      counts[split] = len(os.listdir(uri))
    output = artifact_utils.get_single_instance(output_dict['counts'])
    output.total = sum(counts.values())
    output.unit = 'files'
    output.set_string_custom_property('greeting', FLAGS.greeting)
    io_utils.write_string_file(
        os.path.join(artifact_utils.get_single_uri(output_dict['counts']), 'counts.json'),
        json.dumps({'counts': counts, 'name': exec_properties['name'],
                    'config': exec_properties.get('config'), 'tmp': self._get_tmp_dir()}))


class CounterSpec(ComponentSpec):
  PARAMETERS = {
      'name': ExecutionParameter(type=str),
      'config': ExecutionParameter(type=Dict[str, Any], optional=True),
  }
  INPUTS = {'examples': ChannelParameter(type=standard_artifacts.Examples)}
  OUTPUTS = {'counts': ChannelParameter(type=Counts)}


class Counter(base_component.BaseComponent):
  SPEC_CLASS = CounterSpec
  EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(CounterExecutor)

  def __init__(self, examples: types.Channel, name: str,
               config: Optional[Dict[str, Any]] = None,
               counts: Optional[types.Channel] = None):
    counts = counts or types.Channel(type=Counts)
    super().__init__(spec=CounterSpec(examples=examples, name=name, config=config, counts=counts))
'''

# The newer way: a function, with every kind of annotation.
FUNCTIONS = '''
class Report(tfx.types.Artifact):
  TYPE_NAME = 'Report'


@component
def report(
    counts: InputArtifact[Counts],
    report: OutputArtifact[Report],
    title: Parameter[str],
    scale: Parameter[float] = 2.0,
    shout: Parameter[bool] = False,
    depth: Parameter[int] = 3,
    previous: Optional[InputArtifact[Report]] = None,
    note: Optional[str] = 'none',
) -> OutputDict(total=int, scaled=float, heading=str, loud=bool, raw=bytes,
                skipped=Optional[int], names=List[str], table=Dict[str, int]):
  """Everything that a function may read and return."""
  assert isinstance(counts, Counts) and isinstance(report, Report)
  assert previous is None
  with open(os.path.join(report.uri, 'report.txt'), 'w') as f:
    f.write('%s %s %s %d' % (title, counts.unit, FLAGS.greeting, depth))
  return {'total': counts.total, 'scaled': counts.total * scale, 'heading': title + note,
          'loud': shout, 'raw': b'raw', 'skipped': None, 'names': ['a'], 'table': {'b': 1}}


@component
def check(total: int, scaled: float, heading: str, loud: bool, raw: bytes,
          names: List[str], table: Dict[str, int], out: OutputArtifact[Report],
          skipped: Optional[int] = None):
  seen = dict(total=total, scaled=scaled, heading=heading, loud=loud, raw=raw.decode(),
              skipped=skipped, names=names, table=table)
  with open(os.path.join(out.uri, 'seen.json'), 'w') as f:
    json.dump(seen, f)
'''

PIPELINE = """
import json
import os
from typing import Dict, List, Optional

from absl import app
from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import (
    InputArtifact, OutputArtifact, OutputDict, Parameter)
from tfx.dsl.component.experimental.decorators import component

{steps}

flags.DEFINE_string('data', None, 'Where the CSV files are.', required=True)
flags.DEFINE_string('root', None, 'Where the outputs go.', required=True)

{functions}

def create_pipeline():
  example_gen = tfx.components.CsvExampleGen(input_base=FLAGS.data)
  counter = Counter(examples=example_gen.outputs['examples'], name='mine', config={{'deep': [1]}})
  reporting = report(counts=counter.outputs['counts'], title='Rows', shout=True)
  values = dict(reporting.outputs)
  del values['report']
  return tfx.dsl.Pipeline(
      pipeline_name='own', pipeline_root=FLAGS.root,
      components=[example_gen, counter, reporting, check(**values)])


def main(argv):
  del argv
  tfx.orchestration.LocalDagRunner().run(create_pipeline())


if __name__ == '__main__':
  app.run(main)
"""

ALL_IN_ONE = PIPELINE.format(steps=STEPS, functions=FUNCTIONS)
IMPORTED = "from my_project.steps import Counter, Counts, FLAGS, flags"
STEPS_APART = PIPELINE.format(steps=IMPORTED, functions=FUNCTIONS)
ALL_APART = PIPELINE.format(
    steps=IMPORTED, functions="from my_project.functions import check, report"
)
FUNCTIONS_APART = PIPELINE.split("{steps}")[0] + IMPORTED + FUNCTIONS


@pytest.fixture(params=[ALL_IN_ONE, STEPS_APART, ALL_APART], ids=["one file", "steps", "package"])
def project(tmp_path, request):
    """A folder with a package that holds a pipeline, and its steps in the same file or beside."""
    package = tmp_path / "my_project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pipeline.py").write_text(request.param)
    if request.param != ALL_IN_ONE:
        (package / "steps.py").write_text(STEPS)
    if request.param == ALL_APART:
        (package / "functions.py").write_text(FUNCTIONS_APART)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["my_project/pipeline.py"],
        ["-m", "stoker", "run", "my_project/pipeline.py"],
        ["-m", "my_project.pipeline"],
    ],
    ids=["python file", "stoker run", "python -m"],
)
def test_own_steps_run_however_the_pipeline_is_started(project, penguins, command):
    root = project / "out"
    done = subprocess.run(
        [sys.executable, *command, f"--data={penguins}", f"--root={root}", "--greeting=hi"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(project), *inherited()])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(next(root.glob("Counter/counts/*/counts.json")).read_text())
    assert counts["counts"] == {"train": 1, "eval": 1}
    assert counts["config"] == {"deep": [1]}
    assert not Path(counts["tmp"]).exists()
    assert next(root.glob("report/report/*/report.txt")).read_text() == "Rows files hi 3"
    assert json.loads(next(root.glob("check/out/*/seen.json")).read_text()) == {
        **{"total": 2, "scaled": 4.0, "heading": "Rowsnone", "loud": True, "raw": "raw"},
        **{"skipped": None, "names": ["a"], "table": {"b": 1}},
    }
    assert next(root.glob("check/out/*")).name == "4"


def inherited():
    return [path for path in [os.environ.get("PYTHONPATH", "")] if path]


BEAM = """
import os

import apache_beam as beam
from tfx import v1 as tfx
from tfx.dsl.components.base import base_beam_component, base_beam_executor, executor_spec
from tfx.types import artifact_utils, component_spec, standard_artifacts


class Executor(base_beam_executor.BaseBeamExecutor):

  def Do(self, input_dict, output_dict, exec_properties):
    uri = artifact_utils.get_split_uri(input_dict['examples'], 'train')
    out = os.path.join(artifact_utils.get_single_uri(output_dict['count']), 'count')
    with self._make_beam_pipeline() as p:
      _ = (p
           | beam.io.ReadFromTFRecord(os.path.join(uri, '*'))
           | beam.combiners.Count.Globally()
           | beam.Map(str)
           | beam.io.WriteToText(out, shard_name_template=''))


class Spec(component_spec.ComponentSpec):
  PARAMETERS = {}
  INPUTS = {'examples': component_spec.ChannelParameter(type=standard_artifacts.Examples)}
  OUTPUTS = {'count': component_spec.ChannelParameter(type=standard_artifacts.ExampleStatistics)}


class BeamCounter(base_beam_component.BaseBeamComponent):
  SPEC_CLASS = Spec
  EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

  def __init__(self, examples):
    super().__init__(spec=Spec(
        examples=examples, count=tfx.types.Channel(type=standard_artifacts.ExampleStatistics)))
"""


@pytest.mark.slow
def test_an_executor_runs_a_beam_pipeline(tmp_path, penguins, monkeypatch):
    (tmp_path / "beam_steps.py").write_text(BEAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    counter = importlib.import_module("beam_steps").BeamCounter(example_gen.outputs["examples"])
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="beam",
        pipeline_root=str(tmp_path / "root"),
        components=[example_gen, counter.with_beam_pipeline_args(["--runner=FnApiRunner"])],
    )
    run = tfx.orchestration.LocalDagRunner().run(pipeline)
    (count,) = run.outputs["BeamCounter"]["count"]
    assert int(Path(count.uri, "count").read_text()) > 200


class Score(tfx.types.Artifact):
    TYPE_NAME = "Score"
    PROPERTIES = {"value": Property(type=PropertyType.FLOAT)}


@component
def rate(score: OutputArtifact[Score], value: Parameter[float]):
    score.value = value


@component
def keep(score: Optional[InputArtifact[Score]] = None) -> OutputDict(best=float):  # noqa: UP045
    return {"best": score.value if score else -1.0}


class BestStrategy(ResolverStrategy):
    """The user's own: the artifact with the highest value, of those above a floor."""

    def __init__(self, floor=0.0):
        self._floor = floor

    def resolve_artifacts(self, metadata_store, input_dict):
        good = [one for one in input_dict["score"] if one.value > self._floor]
        return {"score": [max(good, key=lambda one: one.value)]} if good else None


@pytest.mark.slow
@pytest.mark.usefixtures("warm")
def test_a_strategy_of_the_users_own_chooses_among_earlier_artifacts(tmp_path):
    def run(value):
        best = tfx.dsl.Resolver(
            strategy_class=BestStrategy,
            config={"floor": 0.5},
            score=tfx.dsl.Channel(type=Score),
        ).with_id("best_score")
        keeping = keep(score=best.outputs["score"])
        rating = rate(value=value)
        rating.add_upstream_node(keeping)
        pipeline = tfx.dsl.Pipeline("best", str(tmp_path), components=[best, keeping, rating])
        return tfx.orchestration.LocalDagRunner().run(pipeline).outputs["keep"]["best"][0].value

    assert [run(value) for value in (0.4, 0.9, 0.7, 0.8)] == [-1.0, -1.0, 0.9, 0.9]
