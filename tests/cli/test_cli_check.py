# SPDX-License-Identifier: Apache-2.0
import ast
from pathlib import Path

import pytest

from stoker.cli.check import find_problems

REPOSITORY = Path(__file__).parents[2]


def messages(source):
    return [problem.message for problem in find_problems(ast.parse(source), "file.py")]


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("from tfx.components import ExampleDiff", "previous_statistics"),
        ("from tfx import v1 as tfx\ntfx.components.ExampleDiff(x=1)", "previous_statistics"),
        ("import tfx.components\ntfx.components.ExampleDiff()", "previous_statistics"),
        ("from tfx.orchestration import kubeflow", "LocalDagRunner"),
        (
            "import tfx.v1 as tfx\ntfx.orchestration.experimental.KubeflowDagRunner",
            "LocalDagRunner",
        ),
    ],
)
def test_what_is_missing_is_told_with_its_advice(source, advice):
    (message,) = messages(source)
    assert "is not in this version of Stoker" in message
    assert advice in message


def test_each_problem_has_its_line():
    (problem,) = find_problems(
        ast.parse("from tfx import v1 as tfx\n\n\ntfx.components.ExampleDiff()"), "file.py"
    )
    assert str(problem).startswith("file.py:4: tfx.v1.components.ExampleDiff is not")


def test_an_argument_that_a_component_does_not_have_is_told():
    source = "from tfx.components import Trainer\nTrainer(module_file='m.py', train_argz=1)"
    (message,) = messages(source)
    assert message.startswith("Trainer has no argument 'train_argz'; it has base_model, ")


def test_an_argument_that_a_message_does_not_have_is_told():
    source = "from tfx.proto import trainer_pb2\ntrainer_pb2.TrainArgs(num_stepz=1)"
    assert messages(source) == ["TrainArgs has no argument 'num_stepz'; it has num_steps, splits."]


def test_a_path_that_tfx_never_had_is_told():
    assert messages("import tfx.nope") == ["tfx.nope is not a module of TFX that Stoker has."]
    assert messages("from tfx.dsl.io.fileio import nope") == [
        "tfx.dsl.io.fileio has no nope in Stoker."
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import tfxtras\nfrom tfxtras import x",
        "from . import tfx",
        "from tfx.components import Trainer\nTrainer(**given)",
        "from tfx import v1 as tfx\ntfx.dsl.Resolver(model=1).with_id('x')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tfx.components import Nope",
    ],
)
def test_what_is_fine_is_left_alone(source):
    assert messages(source) == []


def test_the_penguin_example_is_supported_and_gets_keras_2(stoker, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    result = stoker("check", "examples/penguin/pipeline.py", "--json")
    assert (result.code, result.record["problems"]) == (0, [])
    keras = result.record["keras"]["examples/penguin/module.py"]
    assert keras["version"] == 2
    assert "uses tf.keras" in keras["reason"]


def test_a_pipeline_is_checked_with_the_module_that_it_names(stoker, here):
    (here / "pipeline.py").write_text("import steps\nMODULE = 'module.py'\n")
    (here / "steps.py").write_text("from tfx.components import ExampleDiff\n")
    (here / "module.py").write_text("import keras\n\ndef run_fn(fn_args):\n    raise SystemExit\n")
    result = stoker("check", "pipeline.py")
    assert result.code == 1
    assert "steps.py:1: tfx.components.ExampleDiff" in result.out
    assert "module.py: Keras 3, because module.py:1 imports keras" in result.out
    assert "Files read: 3. Problems: 1." in result.out


def test_a_file_that_does_not_parse_is_a_problem(stoker, here):
    (here / "pipeline.py").write_text("def main(:\n")
    result = stoker("check", "pipeline.py")
    assert result.code == 1
    assert "pipeline.py:1: this is not Python" in result.out
