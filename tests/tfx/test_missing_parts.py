# SPDX-License-Identifier: Apache-2.0
import importlib

import pytest
from tfx import v1

from stoker.errors import MissingPart
from stoker.stand_ins.tfx.missing import MODULES

NAMES = {
    "tfx.components.ExampleDiff": "previous_statistics",
    "tfx.components.DistributionValidator": "previous_statistics",
    "tfx.v1.proto.ExampleDiffConfig": "previous_statistics",
    "tfx.orchestration.data_types.ExecutionInfo": "executor",
    "tfx.proto.orchestration.pipeline_pb2.Pipeline": "components",
    "tfx.proto.orchestration.platform_config_pb2.DockerPlatformConfig": "its image",
    "tfx.v1.proto.EvalConfig": "take it from tfma",
    "tfx.proto.eval_config_pb2": "take it from tfma",
    "tfx.orchestration.portable.mlmd.context_lib.prepare_contexts": "components",
}


@pytest.mark.parametrize(("path", "advice"), NAMES.items())
def test_an_import_of_a_missing_name_says_what_to_do_instead(path, advice):
    module, _, name = path.rpartition(".")

    with pytest.raises(MissingPart) as raised:
        exec(f"from {module} import {name}", {})

    assert f"{path} is not in this version of Stoker" in str(raised.value)
    assert advice in str(raised.value)


@pytest.mark.parametrize("path", NAMES)
def test_a_missing_name_says_so_as_an_attribute_too(path):
    module, _, name = path.rpartition(".")

    with pytest.raises(MissingPart, match=name):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path", ["tfx.proto.TrainArgs", "tfx.dsl.Resolver"])
def test_a_name_that_only_v1_has_says_so(path):
    module, _, name = path.rpartition(".")

    with pytest.raises(
        AttributeError, match=r"tfx\.v1\.\w+ has: write `from tfx import v1 as tfx`"
    ):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", MODULES)
def test_the_import_of_a_missing_module_says_what_to_do_instead(module):
    with pytest.raises(MissingPart) as raised:
        importlib.import_module(module)

    assert str(raised.value) == f"{module} is not in this version of Stoker. {MODULES[module]}"


@pytest.mark.parametrize(
    "statement",
    [
        "from tfx.examples.penguin import penguin_utils_base as base",
        "import tfx.examples.chicago_taxi_pipeline.taxi_utils",
        "from tfx.experimental.templates.taxi.models import features",
        "from tfx.proto import example_diff_pb2",
    ],
)
def test_what_is_inside_a_missing_module_says_so_as_well(statement):
    with pytest.raises(MissingPart, match="not in this version"):
        exec(statement, {})


def test_code_that_guards_its_import_goes_on():
    try:
        from tfx.components import ExampleDiff
    except ImportError as error:
        ExampleDiff = error

    assert isinstance(ExampleDiff, MissingPart)


def test_a_name_that_tfx_never_had_is_an_ordinary_attribute_error():
    assert not hasattr(v1.components, "Nope")


def test_a_name_that_tfx_never_had_is_an_ordinary_import_error():
    with pytest.raises(ImportError, match="cannot import name 'Nope'") as raised:
        from tfx.components import Nope  # noqa: F401

    assert not isinstance(raised.value, MissingPart)


def test_a_module_that_tfx_never_had_is_an_ordinary_import_error():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tfx.components.nope")


def test_lookups_of_special_names_are_left_alone():
    assert not hasattr(v1.components, "__wrapped__")
