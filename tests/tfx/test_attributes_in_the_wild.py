# SPDX-License-Identifier: Apache-2.0
"""What code of others reads from artifacts, channels, steps and pipelines."""

import pytest
from tfx.components import CsvExampleGen, StatisticsGen
from tfx.orchestration.pipeline import Pipeline
from tfx.proto.trainer_pb2 import TrainArgs
from tfx.types import standard_artifacts
from tfx.types.artifact import Artifact
from tfx.v1.dsl import standard_annotations

from stoker.artifacts import State
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store


@pytest.fixture
def examples():
    found = standard_artifacts.Examples()
    found.uri, found.id, found.span = "/examples", 7, 3
    found.set_bool_custom_property("good", True)
    found.set_json_value_custom_property("sizes", [1, 2])
    return found


def test_an_artifact_is_ml_metadatas_message_too(examples):
    message = examples.mlmd_artifact
    assert (message.id, message.uri, message.type) == (7, "/examples", "Examples")
    assert message.properties["span"].int_value == 3
    assert message.custom_properties["good"].bool_value
    assert list(message.custom_properties["sizes"].struct_value["__value__"]) == [1, 2]


def test_an_artifact_says_which_properties_it_has(examples):
    assert examples.has_property("span")
    assert not examples.has_property("version")
    assert examples.get_bool_custom_property("good")
    assert not examples.get_bool_custom_property("bad")


def test_an_artifact_is_copied_and_written_as_json(examples):
    other = standard_artifacts.Examples()
    other.copy_from(examples)
    assert other.to_json_dict() == examples.to_json_dict()
    assert standard_artifacts.Examples.from_json_dict(other.to_json_dict()).span == 3
    with pytest.raises(ValueError, match="A Model cannot be a copy"):
        standard_artifacts.Model().copy_from(examples)


def test_an_artifact_says_where_it_is_from(examples):
    assert (examples.pipeline_name, examples.producer_component) == ("", "")
    assert not examples.is_external
    examples.pipeline_name, examples.producer_component = "p", "CsvExampleGen"
    examples.is_external = True
    assert examples.get_string_custom_property("producer_component") == "CsvExampleGen"
    assert examples.is_external
    assert examples.artifact_type.name == "Examples"
    assert examples.artifact_type.properties["span"] == 1


def test_a_custom_property_may_be_a_message(examples):
    assert examples.get_proto_custom_property("args") is None
    args = TrainArgs(splits=["train"], num_steps=3)
    examples.set_proto_custom_property("args", args)
    copy = standard_artifacts.Examples.from_json_dict(examples.to_json_dict())
    assert copy.get_proto_custom_property("args") == args


def test_steps_know_their_neighbours_once_they_are_in_a_pipeline():
    reader = CsvExampleGen(input_base="data")
    statistics = StatisticsGen(examples=reader.outputs["examples"].as_optional().no_trigger())
    pipeline = Pipeline("wild", "root", components=[statistics, reader])
    assert reader.downstream_nodes == [statistics]
    assert statistics.downstream_nodes == []
    assert reader.component_id == "CsvExampleGen"
    assert reader.type == "tfx.components.example_gen.csv_example_gen.component.CsvExampleGen"
    channel = reader.outputs["examples"]
    assert channel.producer_component is reader
    assert channel.producer_component_id == "CsvExampleGen"
    assert statistics.to_json_dict()["inputs"]["examples"] == channel.to_json_dict()
    assert pipeline.pipeline_info.pipeline_name == "wild"


def test_a_type_of_ones_own_names_its_base_by_a_class(tmp_path):
    class Table(Artifact):
        TYPE_NAME = "Table"
        TYPE_ANNOTATION = standard_annotations.Dataset

    with Store(sqlite_metadata_connection_config(tmp_path / "metadata.db")) as store:
        store.begin_run("p", "r", properties={})
        store.begin_execution(
            type_name="Maker",
            pipeline_name="p",
            run_id="r",
            node_id="maker",
            inputs={},
            outputs=lambda _: {"table": [Table()]},
            properties={},
        )
        (table,) = store.artifacts(type_name="Table", states=tuple(State))
    from ml_metadata import MetadataStore

    store = MetadataStore(sqlite_metadata_connection_config(tmp_path / "metadata.db"))
    assert store.get_artifact_type("Table").base_type == 1
    assert table.type_id == table.mlmd_artifact.type_id == store.get_artifact_type("Table").id
