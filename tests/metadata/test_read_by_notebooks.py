# SPDX-License-Identifier: Apache-2.0
"""The cells of TFX's tutorials that look into the store and show what is in it."""

import pytest
from ml_metadata import MetadataStore
from ml_metadata.proto import metadata_store_pb2
from small_pipeline import TRAINER, make_examples, train
from tfx import types
from tfx.orchestration.experimental.interactive import standard_visualizations, visualizations
from tfx.orchestration.metadata import Metadata
from tfx.orchestration.portable.mlmd import artifact_lib, context_lib, execution_lib

from stoker.artifacts import State
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.config import as_store_config
from stoker.metadata.store import Store
from stoker.notebook.context import InteractiveContext


@pytest.fixture
def config(tmp_path):
    found = sqlite_metadata_connection_config(tmp_path / "metadata.db")
    with Store(found) as store:
        store.begin_run("penguin", "run-1", properties={})
        train(store, make_examples(store))
    return found


def latest_artifacts(metadata, pipeline_name, component_id):
    context = metadata.store.get_context_by_type_and_name("node", f"{pipeline_name}.{component_id}")
    executions = metadata.store.get_executions_by_context(context.id)
    latest = max(executions, key=lambda one: one.last_update_time_since_epoch)
    return execution_lib.get_output_artifacts(metadata, latest.id)


def test_the_outputs_of_a_steps_latest_run_are_found(config):
    with Metadata(config) as metadata:
        outputs = latest_artifacts(metadata, "penguin", "Trainer")
        [execution] = metadata.store.get_executions_by_type(TRAINER)
        inputs = execution_lib.get_input_artifacts(metadata, execution.id)
        assert execution_lib.is_execution_successful(execution)
    [model] = outputs["model"]
    assert (model.type_name, model.uri) == ("Model", "/pipeline/Trainer/model/2")
    assert [one.type_name for one in inputs["examples"]] == ["Examples"]


def test_artifacts_are_read_and_changed_by_their_ids(config):
    with Metadata(config) as metadata:
        [found] = metadata.store.get_artifacts_by_type("Model")
        [model] = artifact_lib.get_artifacts_by_ids(metadata, [found.id])
        assert (model.type, model.uri) == (types.standard_artifacts.Model, found.uri)
        model.set_string_custom_property("checked_by", "ana")
        artifact_lib.update_artifacts(metadata, {"model": [model]}, State.MARKED_FOR_DELETION)
        [again] = artifact_lib.get_artifacts_by_ids(metadata, [found.id])
        assert again.get_string_custom_property("checked_by") == "ana"
        assert again.get_float_custom_property("accuracy") == 0.97
        assert again.state == State.MARKED_FOR_DELETION
        with pytest.raises(ValueError, match="The store has no artifact 999"):
            artifact_lib.get_artifacts_by_ids(metadata, [found.id, 999])
        with pytest.raises(ValueError, match="is not in the store"):
            artifact_lib.update_artifacts(metadata, {"model": [types.standard_artifacts.Model()]})


@pytest.mark.parametrize("kind", ["fake_database", "sqlite"])
def test_a_store_in_memory_lasts_as_long_as_its_block(kind):
    config = metadata_store_pb2.ConnectionConfig()
    getattr(config, kind).SetInParent()
    handle = Metadata(config)
    with handle as metadata:
        metadata.store.put_context_type(
            metadata_store_pb2.ContextType(name="experiment", properties={"note": 3})
        )
        made = context_lib.register_context_if_not_exists(metadata, "experiment", "first")
        again = context_lib.register_context_if_not_exists(metadata, "experiment", "first")
        assert (made.id, made.name, made.type) == (again.id, "first", "experiment")
        type_id = metadata.store.put_artifact_type(metadata_store_pb2.ArtifactType(name="Model"))
        [model] = metadata.store.put_artifacts(
            [metadata_store_pb2.Artifact(type_id=type_id, uri="/model")]
        )
        assert artifact_lib.get_artifacts_by_ids(metadata, [model])[0].uri == "/model"
    with handle as metadata:
        assert metadata.store.get_contexts() == []


def test_the_store_is_open_in_its_block_alone(config):
    handle = Metadata(config)
    with pytest.raises(RuntimeError, match="with Metadata"):
        handle.store.get_artifacts()


def test_a_type_is_shown_as_was_registered(tmp_path, capsys):
    class Picture(types.Artifact):
        TYPE_NAME = "Picture"

    class PictureVisualization(visualizations.ArtifactVisualization):
        ARTIFACT_TYPE = Picture

        def display(self, artifact):
            print("a picture at", artifact.uri)

    standard_visualizations.register_standard_visualizations()
    visualizations.get_registry().register(PictureVisualization)
    picture = Picture()
    picture.uri = "/somewhere"
    InteractiveContext(pipeline_root=str(tmp_path)).show(picture)
    visualizations.get_registry().get_visualization("Picture").display(picture)
    assert capsys.readouterr().out == "a picture at /somewhere\n" * 2


def test_a_type_that_is_not_known_has_no_visualization():
    assert visualizations.get_registry().get_visualization("Unheard") is None


def test_a_context_uses_the_store_that_the_environment_names(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STOKER_STORE", str(tmp_path / "team.db"))
    root = str(tmp_path / "root")
    context = InteractiveContext(pipeline_root=root)
    assert context.metadata_connection_config.sqlite.filename_uri == str(tmp_path / "team.db")
    declared = metadata_store_pb2.ConnectionConfig()
    declared.sqlite.filename_uri = str(tmp_path / "mine.db")
    capsys.readouterr()
    context = InteractiveContext(pipeline_root=root, metadata_connection_config=declared)
    assert context.metadata_connection_config.sqlite.filename_uri == str(tmp_path / "team.db")
    assert f"Records go to {tmp_path}/team.db, as STOKER_STORE says." in capsys.readouterr().out

    monkeypatch.setenv("STOKER_STORE", "postgresql://ana:hidden@db.example/stoker")
    config = InteractiveContext(pipeline_root=root).metadata_connection_config
    assert as_store_config(config).url == "postgresql://ana:hidden@db.example/stoker"
    assert "hidden" not in repr(config)


def test_the_root_of_a_context_may_be_a_bucket():
    assert InteractiveContext(pipeline_root="s3://b/root").pipeline_root == "s3://b/root"


@pytest.mark.parametrize("given", [None, metadata_store_pb2.ConnectionConfig()])
def test_a_contexts_store_can_be_opened_though_none_was_given(tmp_path, given):
    context = InteractiveContext(pipeline_root=str(tmp_path), metadata_connection_config=given)
    assert context.metadata_connection_config.sqlite.filename_uri == f"{tmp_path}/metadata.sqlite"
    assert MetadataStore(context.metadata_connection_config).get_artifacts() == []
    with Metadata(context.metadata_connection_config) as metadata:
        assert metadata.store.get_artifacts() == []


def test_a_context_writes_to_the_store_that_the_pipelines_of_its_root_have(tmp_path):
    MetadataStore(sqlite_metadata_connection_config(tmp_path / "metadata.db"))
    config = InteractiveContext(pipeline_root=str(tmp_path)).metadata_connection_config
    assert config.sqlite.filename_uri == f"{tmp_path}/metadata.db"
