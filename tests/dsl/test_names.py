# SPDX-License-Identifier: Apache-2.0
"""Whatever becomes a file or folder below the pipeline root stays below it."""

import re

import pytest

from stoker.artifacts import Examples, Model
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.importer import Importer
from stoker.dsl import ChannelParameter, ComponentSpec, OutputArtifact, Pipeline, component
from stoker.dsl.component import BaseComponent
from stoker.dsl.executor import BaseExecutor, ExecutorClassSpec
from stoker.dsl.proto import example_gen_pb2

ESCAPES = ["../../esc", "a/b", "/etc", "..", ".", ".stoker", "a\\b", "a\0b", "\x1b[31m", "a\nb"]
ESCAPES += ["\udcff", "\u202egpj.exe", "n" * 201, "é" * 101]
NAMES = [
    "Trainer",
    "Trainer.my_model",
    "CsvExampleGen.train",
    "my-model",
    "a b",
    "step (2)",
    "학습",
]
NAMES += ["_hidden", "a..b", "50%", "[1]", "n" * 200]


@component
def make(examples: OutputArtifact[Examples]): ...


def refused():
    return pytest.raises(ValueError, match=r"no '/'.* no control character.*; got ")


def component_with_output(key):
    class Spec(ComponentSpec):
        OUTPUTS = {key: ChannelParameter(type=Model)}

    class Step(BaseComponent):
        SPEC_CLASS = Spec
        EXECUTOR_SPEC = ExecutorClassSpec(BaseExecutor)

    return Step(Spec())


def example_gen_with_split(name):
    output = example_gen_pb2.Output()
    output.split_config.splits.add(name=name, hash_buckets=1)
    return CsvExampleGen("data", output_config=output)


def split_folder(name):
    examples = Examples()
    examples.uri, examples.splits = "/pipeline/CsvExampleGen/examples/1", [name]
    return examples.path(split=name)


WAYS = {
    "a component's id": lambda name: make().with_id(name),
    "an id that is assigned": lambda name: setattr(make(), "id", name),
    "the key of an output": component_with_output,
    "the key of an Importer's output": lambda key: Importer("s", Model, output_key=key),
    "a pipeline's name": lambda name: Pipeline(name, "root"),
    "a split that an artifact tells of": split_folder,
}


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_would_lead_elsewhere_is_refused(way, name):
    with refused() as error:
        WAYS[way](name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_names_that_people_use_are_taken(way, name):
    WAYS[way](name)


@pytest.mark.parametrize("way", [way for way in WAYS if "Importer" not in way])
def test_there_is_no_empty_name(way):
    with refused():
        WAYS[way]("")


@pytest.mark.parametrize("name", ["../train", "a/b", "..", "\x1b]0;x\x07"])
def test_a_split_is_refused_when_it_is_declared(name):
    with refused():
        example_gen_with_split(name)


def test_an_instance_name_cannot_lead_elsewhere_either():
    with refused():
        CsvExampleGen("data", instance_name="/../../../esc")


def test_the_error_names_the_step_and_the_id():
    with pytest.raises(ValueError, match=re.escape("The id of a CsvExampleGen")):
        CsvExampleGen("data").with_id("../../esc")


def test_an_id_is_text():
    with pytest.raises(TypeError, match="got 3"):
        make().with_id(3)
