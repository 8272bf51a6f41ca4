# SPDX-License-Identifier: Apache-2.0
"""TFX's language beyond plain steps: small pipelines, each run as a program."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

# Loops over artifacts and windows, and functions that choose among them.
LOOPS = """
from typing import List, Optional, TypedDict

from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.control_flow import for_each
from tfx.dsl.input_resolution import canned_resolver_functions, resolver_function, resolver_op
from tfx.dsl.input_resolution.ops import ops
from tfx.types import channel as channel_lib
from tfx.types.standard_artifacts import Examples


class Counted(TypedDict):
  span: int
  note: Optional[str]


@component
def Ingest(examples: OutputArtifact[Examples], span: Parameter[int]):
  examples.span = span
  examples.version = 0


@component
def Count(examples: InputArtifact[Examples], add: int = 0) -> Counted:
  return {'span': examples.span + add, 'note': None}


@component
def Report(examples: InputArtifact[List[Examples]], name: Parameter[str],
           note: Optional[str] = 'given') -> None:
  print(name, [e.span for e in examples], note, flush=True)


class Widest(resolver_op.ResolverOp,
             arg_data_types=(resolver_op.DataType.ARTIFACT_LIST,),
             return_data_type=resolver_op.DataType.ARTIFACT_LIST):
  n = resolver_op.Property(type=int)

  def apply(self, artifacts):
    return sorted(artifacts, key=lambda a: -a.span)[:self.n]


@resolver_function.resolver_function
def widest(artifacts, *, n: int):
  return Widest(ops.ExcludeSpans(artifacts, denylist=[3]), n=n)


def create_pipeline():
  ingests = [Ingest(span=s).with_id(f'ingest_{s}') for s in (1, 2, 3)]
  examples = channel_lib.union([i.outputs['examples'] for i in ingests])
  with for_each.ForEach(examples) as each:
    count = Count(examples=each)
    again = Count(examples=each, add=count.outputs['span']).with_id('again')
  with for_each.ForEach(canned_resolver_functions.sliding_window(examples, window_size=2)) as pair:
    windows = Report(examples=pair, name='window').with_id('windows')
  rest = [
      Report(examples=widest(examples, n=1), name='widest').with_id('widest'),
      Report(examples=canned_resolver_functions.rolling_range(examples, num_spans=2),
             name='recent',
             note=canned_resolver_functions.pick(count.outputs['note'], 0)).with_id('recent'),
      Report(examples=canned_resolver_functions.rolling_range(examples, num_spans=9),
             name='never').with_id('never'),
  ]
  return tfx.dsl.Pipeline(
      pipeline_name='loops', pipeline_root='root',
      components=ingests + [count, again, windows] + rest)


if __name__ == '__main__':
  run = tfx.orchestration.LocalDagRunner().run(create_pipeline())
  print('again', [a.read() for a in run.outputs['again']['span']])
"""

# Placeholders in parameters, conditions, messages and flags.
PLACEHOLDERS = """
import os
from typing import Any, Dict, List, NamedTuple

from tfx import types
from tfx import v1 as tfx
from tfx.dsl.components.base import base_beam_component, base_beam_executor, executor_spec
from tfx.dsl.experimental.conditionals import conditional
from tfx.dsl.placeholder import placeholder as ph
from tfx.proto import pusher_pb2, trainer_pb2
from tfx.types import component_spec, standard_artifacts


class Numbers(NamedTuple):
  steps: int
  names: List[str]


@tfx.dsl.components.component
def Upstream(start: tfx.dsl.components.Parameter[int]) -> Numbers:
  return Numbers(steps=start + 1, names=['a', 'b'])


class Executor(base_beam_executor.BaseBeamExecutor):

  def Do(self, input_dict: Dict[str, List[types.Artifact]],
         output_dict: Dict[str, List[types.Artifact]], exec_properties: Dict[str, Any]) -> None:
    for key in sorted(exec_properties):
      print(key, '=', exec_properties[key], flush=True)
    assert exec_properties['log'].startswith(output_dict['model'][0].uri)
    print('beam', self._context.beam_pipeline_args, flush=True)


class Spec(types.ComponentSpec):
  PARAMETERS = {
      'num': component_spec.ExecutionParameter(type=int),
      'text': component_spec.ExecutionParameter(type=str),
      'train_args': component_spec.ExecutionParameter(type=trainer_pb2.TrainArgs, use_proto=True),
      'destination': component_spec.ExecutionParameter(type=str),
      'config': component_spec.ExecutionParameter(type=Dict[str, Any]),
      'log': component_spec.ExecutionParameter(type=str),
  }
  INPUTS = {}
  OUTPUTS = {'model': component_spec.ChannelParameter(type=standard_artifacts.Model)}


class Downstream(base_beam_component.BaseBeamComponent):
  SPEC_CLASS = Spec
  EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

  def __init__(self, **kwargs):
    super().__init__(spec=Spec(model=types.Channel(type=standard_artifacts.Model), **kwargs))


upstream = Upstream(start=1)
steps = upstream.outputs['steps'].future()[0].value
with conditional.Cond(ph.logical_and(steps == 2, ph.logical_not(steps > 5))):
  downstream = Downstream(
      num=steps,
      text='run-' + ph.environment_variable('STOKER_TEST_USER') + '-' + steps,
      train_args=ph.make_proto(trainer_pb2.TrainArgs(splits=['train']), num_steps=steps),
      destination=ph.make_proto(
          pusher_pb2.PushDestination.Filesystem(),
          base_directory=ph.join_path('/models', upstream.outputs['names'].future()[0].value[1]),
      ).serialize(ph.ProtoSerializationFormat.TEXT_FORMAT),
      config={'id': ph.execution_invocation().pipeline_node.node_info.id,
              'names': ph.make_list([steps, 'x'])},
      log=ph.output('model')[0].uri + '/log.txt',
  ).with_beam_pipeline_args(['--job_name=' + ph.exec_property('num')])
with conditional.Cond(steps > 5):
  never = Upstream(start=steps).with_id('never')

if __name__ == '__main__':
  tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline(
      pipeline_name='placeholders', pipeline_root='root',
      components=[downstream, never, upstream]))
"""

# A pipeline inside another, a person in between, and a run of a part of it.
PARTS = """
import sys
from typing import Optional

from tfx import v1 as tfx
from tfx.dsl.components.common.manual_node import ManualNode
from tfx.dsl.experimental.node_execution_options import utils
from tfx.orchestration import pipeline


@tfx.dsl.components.component
def Ingest() -> tfx.dsl.components.OutputDict(rows=int, note=Optional[str]):
  print('ingesting', flush=True)
  return {'rows': 4, 'note': None}


@tfx.dsl.components.component
def Train(rows: int, note: Optional[str] = 'given') -> tfx.dsl.components.OutputDict(score=int):
  print('training', rows, note, flush=True)
  return {'score': rows * 2}


@tfx.dsl.components.component
def Push(score: int, when: Optional[int] = None):
  print('pushing', score, when, flush=True)


def training_pipeline(rows, note):
  inputs = pipeline.PipelineInputs({'rows': rows, 'note': note})
  train = Train(rows=inputs.inputs['rows'], note=inputs['note'])
  train.node_execution_options = utils.NodeExecutionOptions(max_execution_retries=0)
  return pipeline.Pipeline(
      pipeline_name='training', components=[train], inputs=inputs,
      outputs={'score': train.outputs['score']})


def create_pipeline():
  ingest = Ingest().with_platform_config(None)
  training = training_pipeline(ingest.outputs['rows'].no_trigger(), ingest.outputs['note'])
  look = ManualNode(description='Look at the score.')
  with tfx.dsl.Cond(ingest.outputs['rows'].future()[0].value > 100):
    late = Ingest().with_id('late')
  push = Push(score=training.outputs['score'], when=late.outputs['rows'].as_optional())
  look.add_upstream_node(training)
  look.add_downstream_node(push)
  return pipeline.Pipeline(
      pipeline_name='parts', pipeline_root='root',
      execution_mode=tfx.dsl.ExecutionMode.SYNC,
      components=[ingest, training, look, late, push])


if __name__ == '__main__':
  options = pipeline.RunOptions(from_nodes=sys.argv[1:]) if sys.argv[1:] else None
  tfx.orchestration.LocalDagRunner().run(create_pipeline(), run_options=options)
"""


@pytest.fixture
def run_program(tmp_path):
    def run(text, *arguments, command=("pipeline.py",)):
        (tmp_path / "pipeline.py").write_text(textwrap.dedent(text))
        return subprocess.run(
            [sys.executable, *command, *arguments],
            cwd=tmp_path,
            env={**os.environ, "STOKER_TEST_USER": "ada"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_loops_and_resolver_functions(run_program):
    done = run_program(LOOPS)

    assert done.returncode == 0, done.stderr
    # Lines of steps that run at the same time begin with the step's name.
    lines = [line.rpartition(": ")[2] for line in done.stdout.splitlines()]
    assert "window [1, 2] given" in lines
    assert "window [2, 3] given" in lines
    assert "widest [2] given" in lines
    assert "recent [2, 3] None" in lines
    assert "again [2, 4, 6]" in lines
    assert "never skipped: there are 3 of the 9 spans" in done.stderr


def test_placeholders(run_program):
    done = run_program(PLACEHOLDERS)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "num = 2" in lines
    assert "text = run-ada-2" in lines
    assert 'destination = base_directory: "/models/b"' in lines
    assert "config = {'id': 'Downstream', 'names': [2, 'x']}" in lines
    assert "beam ['--job_name=2']" in lines
    assert "num_steps: 2" in done.stdout  # a message, since its table says use_proto
    assert "never skipped: condition " in done.stderr


def test_pipelines_in_pipelines_manual_nodes_and_partial_runs(run_program):
    stopped = run_program(PARTS)
    done = run_program(
        PARTS, command=("-m", "stoker", "run", "--done", "ManualNode", "pipeline.py")
    )
    part = run_program(PARTS, "Push")

    assert stopped.returncode == 1
    assert "ManualNode is not done: Look at the score." in stopped.stderr
    assert "training 4 None" in stopped.stdout
    assert "pushing" not in stopped.stdout
    assert done.returncode == 0, done.stderr
    assert "pushing 8 None" in done.stdout
    assert part.returncode == 0, part.stderr
    assert part.stdout.split("\n")[0] == "pushing 8 None"
    assert "training.Train taken from an earlier run" in part.stderr
