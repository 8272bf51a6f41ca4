# SPDX-License-Identifier: Apache-2.0
"""A pipeline of TFX 0.21 from the trained model on, through the runner and real workers."""

import shutil
from pathlib import Path

import pytest
from served_models import examples_channel, model_channel
from tfx.components import Pusher, ResolverNode
from tfx.components.model_validator.component import ModelValidator
from tfx.dsl.experimental import latest_blessed_model_resolver
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.orchestration.pipeline import Pipeline
from tfx.proto import pusher_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model, ModelBlessing

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]


def run(tmp_path, *steps):
    return BeamDagRunner().run(
        Pipeline(pipeline_name="old", pipeline_root=str(tmp_path / "root"), components=list(steps))
    )


def test_a_model_that_answers_is_blessed_pushed_and_found_again(tmp_path):
    validator = ModelValidator(
        examples=examples_channel(tmp_path / "examples", eval=[1.0, 2.0]),
        model=model_channel(tmp_path / "model"),
    )
    pusher = Pusher(
        model=model_channel(tmp_path / "model"),
        model_blessing=validator.outputs["blessing"],
        push_destination=pusher_pb2.PushDestination(
            filesystem=pusher_pb2.PushDestination.Filesystem(
                base_directory=str(tmp_path / "served")
            )
        ),
    )
    resolver = ResolverNode(
        instance_name="latest_blessed_model_resolver",
        resolver_class=latest_blessed_model_resolver.LatestBlessedModelResolver,
        model=Channel(type=Model),
        model_blessing=Channel(type=ModelBlessing),
    )
    (blessing,) = run(tmp_path, validator, pusher, resolver).outputs["ModelValidator"]["blessing"]
    assert Path(blessing.uri, "BLESSED").exists()
    assert blessing.get_string_custom_property("current_model") == str(tmp_path / "model")
    assert [one for one in (tmp_path / "served").iterdir() if one.name.isdecimal()]


def test_a_model_that_cannot_be_loaded_is_not_blessed(tmp_path):
    broken = model_channel(tmp_path / "model")
    (model,) = broken.get()
    shutil.rmtree(Path(model.uri, "Format-Serving", "variables"))
    validator = ModelValidator(
        examples=examples_channel(tmp_path / "examples", eval=[1.0]), model=broken
    )
    (blessing,) = run(tmp_path, validator).outputs["ModelValidator"]["blessing"]
    assert Path(blessing.uri, "NOT_BLESSED").exists()
