# SPDX-License-Identifier: Apache-2.0
import sqlite3
from pathlib import Path
from typing import ClassVar

import pytest
from small_pipeline import TRAINER, begin, make_examples, run, train
from sqlalchemy import event as sql_event

from stoker.artifacts import Artifact, Examples, Model, ModelRun, Property, PropertyType, State
from stoker.errors import StoreError
from stoker.metadata import EventType, ExecutionState, StoreConfig
from stoker.metadata.store import Store


class Notes(Artifact):
    TYPE_NAME = "Notes"
    PROPERTIES: ClassVar = {
        "pages": Property(PropertyType.INT),
        "tags": Property(PropertyType.JSON_VALUE),
    }


def statements(store: Store, ask: object) -> int:
    """How many SQL statements a question takes."""
    seen: list[str] = []

    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    engine = store._database._engine
    sql_event.listen(engine, "before_cursor_execute", count)
    assert callable(ask)
    ask()
    sql_event.remove(engine, "before_cursor_execute", count)
    return len(seen)


def test_outputs_are_pending_until_they_are_published(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"model": Model})
    [model] = outputs["model"]
    assert model.id == 1
    assert model.state == State.PENDING
    assert model.uri == f"/pipeline/Trainer/model/{execution_id}"
    assert store.artifacts() == []
    store.publish(execution_id, outputs)
    assert [found.id for found in store.artifacts()] == [model.id]
    assert store.artifact(model.id).state == model.state == State.LIVE


def test_what_was_published_reads_back(store: Store) -> None:
    _, model = train(store, make_examples(store))
    assert store.artifact(model.id).to_dict() == model.to_dict()
    [examples] = store.artifacts(type_name="Examples")
    assert isinstance(examples, Examples)
    assert (examples.splits, examples.span) == (["train", "eval"], 7)


def test_a_users_own_type_reads_back_with_its_properties(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"notes": Notes})
    outputs["notes"][0].properties = {"pages": 3, "tags": ["a", {"b": 1}]}
    store.publish(execution_id, outputs)
    [notes] = store.artifacts(type_name="Notes")
    assert notes.properties == {"pages": 3, "tags": ["a", {"b": 1}]}
    assert notes.PROPERTIES == Notes.PROPERTIES


def test_an_execution_tells_where_it_ran_and_with_what(store: Store) -> None:
    properties = {"module_file": "trainer.py", "steps": 100, "rate": 0.5, "custom": {"a": [1]}}
    execution_id, _ = begin(store, properties=properties)
    execution = store.execution(execution_id)
    assert execution.state == ExecutionState.RUNNING
    assert execution.type_name == TRAINER
    assert execution.properties == properties
    where = (execution.pipeline_name, execution.run_id, execution.node_id)
    assert where == ("penguin", "run-1", "Trainer")
    assert 0 < execution.created_ms <= execution.updated_ms


def test_an_id_is_never_below_what_is_on_disk(store: Store) -> None:
    assert begin(store)[0] == 1
    assert begin(store, at_least=40)[0] == 40
    assert begin(store, at_least=2)[0] == 41


def test_a_failed_execution_abandons_its_outputs_and_keeps_the_error(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"model": Model})
    assert store.close_execution(execution_id, ExecutionState.FAILED, "no such file: \udcff")
    execution = store.execution(execution_id)
    assert execution.state == ExecutionState.FAILED
    assert execution.error == "no such file: \\udcff"
    assert store.artifact(outputs["model"][0].id).state == State.ABANDONED
    assert store.outputs(execution_id) == {}


def test_an_execution_is_closed_once(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"model": Model})
    assert store.close_execution(execution_id, ExecutionState.CANCELED, "stopped")
    assert not store.close_execution(execution_id, ExecutionState.FAILED, "late")
    assert store.execution(execution_id).error == "stopped"
    with pytest.raises(StoreError, match="is CANCELED, so nothing can be published"):
        store.publish(execution_id, outputs)
    assert store.artifacts() == []


def test_a_promised_output_that_is_not_published_is_abandoned(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"model": Model, "model_run": ModelRun})
    [left_out] = outputs.pop("model_run")
    store.publish(execution_id, outputs)
    assert store.artifact(left_out.id).state == State.ABANDONED
    assert list(store.outputs(execution_id)) == ["model"]


def test_outputs_found_while_running_join_the_promised_ones(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"examples": Examples})
    outputs["examples"].append(Examples())
    store.publish(execution_id, outputs)
    ids = [artifact.id for artifact in store.outputs(execution_id)["examples"]]
    assert ids == [artifact.id for artifact in outputs["examples"]]
    assert [event.path for event in store.events(execution_id)] == [
        ("examples", 0),
        ("examples", 1),
    ]


def test_a_resolver_gives_an_artifact_without_changing_it(store: Store) -> None:
    _, model = train(store, make_examples(store))
    before = store.artifact(model.id).to_dict()
    resolver, _ = begin(store, "latest_model", run_id="run-2")
    model.custom_properties["accuracy"] = 0.0
    store.publish(resolver, {"latest": [model]}, event=EventType.INTERNAL_OUTPUT)
    assert store.outputs(resolver)["latest"][0].to_dict() == before
    assert [event.type for event in store.events(resolver)] == [EventType.INTERNAL_OUTPUT]
    found = store.artifacts(pipeline_name="penguin", run_id="run-2", node_id="latest_model")
    assert [artifact.id for artifact in found] == [model.id]


def test_a_cache_hit_gives_the_outputs_of_an_earlier_run(store: Store) -> None:
    examples = make_examples(store)
    _, model = train(store, examples)
    hit, _ = begin(store, run_id="run-2", inputs={"examples": [examples]})
    store.publish(hit, {"model": [model]}, state=ExecutionState.CACHED)
    assert store.execution(hit).state == ExecutionState.CACHED
    found = store.artifacts(run_id="run-2", output_key="model")
    assert [artifact.id for artifact in found] == [model.id]


def test_only_live_artifacts_can_be_given_again(store: Store) -> None:
    _, outputs = begin(store, outputs={"model": Model})
    resolver, _ = begin(store, "latest_model")
    with pytest.raises(StoreError, match="Artifact 1 is not LIVE"):
        store.publish(resolver, outputs)
    assert store.execution(resolver).state == ExecutionState.RUNNING


def test_the_same_artifact_may_be_given_twice(store: Store) -> None:
    examples, other = make_examples(store), make_examples(store)
    inputs = {"examples": [other, examples], "baseline": [examples]}
    execution_id, _ = begin(store, inputs=inputs)
    read = store.inputs(execution_id)
    assert {key: [artifact.id for artifact in found] for key, found in read.items()} == {
        "examples": [other.id, examples.id],
        "baseline": [examples.id],
    }


def test_artifacts_are_found_by_where_they_were_made(store: Store) -> None:
    run(store, "run-1")
    run(store, "run-2")
    train(store, make_examples(store, pipeline_name="taxi"), pipeline_name="taxi")
    models = store.artifacts(type_name="Model", pipeline_name="penguin")
    assert [model.id for model in models] == sorted(model.id for model in models)
    assert len(models) == 2
    assert len(store.artifacts(run_id="run-2")) == 3
    assert len(store.artifacts(pipeline_name="taxi", node_id="Trainer", output_key="model")) == 1
    assert store.artifacts(uri=models[0].uri)[0].id == models[0].id
    assert store.artifacts(type_name="Model", pipeline_name="nowhere") == []


def test_a_node_is_asked_for_with_its_pipeline(store: Store) -> None:
    with pytest.raises(ValueError, match="give pipeline_name too"):
        store.artifacts(node_id="Trainer")


def test_runs_come_newest_first_with_their_properties(store: Store) -> None:
    store.begin_run("penguin", "run-1", properties={"lock": "/a", "host": "old"})
    store.begin_run("taxi", "run-2", properties={})
    store.begin_run("penguin", "run-3", properties={})
    store.begin_run("penguin", "run-1", properties={"host": "new"})
    assert [found.run_id for found in store.runs()] == ["run-3", "run-2", "run-1"]
    [newest, oldest] = store.runs("penguin")
    assert newest.run_id == "run-3"
    assert oldest.properties == {"lock": "/a", "host": "new"}


def test_a_run_id_belongs_to_one_pipeline(store: Store) -> None:
    store.begin_run("penguin", "run-1", properties={})
    with pytest.raises(StoreError, match="'run-1' belongs to another pipeline"):
        store.begin_run("taxi", "run-1", properties={})


def test_unfinished_executions_come_with_their_run(store: Store) -> None:
    run(store, "run-1")
    store.begin_run("penguin", "run-2", properties={"lock": "/locks/run-2"})
    execution_id, _ = begin(store, run_id="run-2")
    [(execution, found)] = store.find_unfinished("penguin")
    assert execution.id == execution_id
    assert found.properties["lock"] == "/locks/run-2"
    assert store.find_unfinished("taxi") == []


def test_lineage_goes_back_to_the_data_and_forward_to_the_models(store: Store) -> None:
    examples, unrelated = make_examples(store), make_examples(store)
    first, model = train(store, examples)
    hit, _ = begin(store, inputs={"examples": [examples]})
    store.publish(hit, {"model": [model]}, state=ExecutionState.CACHED)
    second, _ = begin(store, inputs={"base_model": [model]}, outputs={"model": Model})

    upstream = store.lineage(model.id)
    assert {artifact.id for artifact in upstream.artifacts} == {examples.id, model.id}
    assert [execution.id for execution in upstream.executions] == [1, first]
    assert [(event.execution_id, event.type) for event in upstream.events] == [
        (1, EventType.OUTPUT),
        (first, EventType.INPUT),
        (first, EventType.OUTPUT),
    ]
    downstream = store.lineage(examples.id, "downstream")
    assert [execution.id for execution in downstream.executions] == [first, second]
    assert unrelated.id not in {artifact.id for artifact in downstream.artifacts}


def test_what_does_not_exist_is_said(store: Store) -> None:
    for ask in (store.artifact, store.execution, store.lineage):
        with pytest.raises(StoreError, match=r"has no (artifact|execution) 99"):
            ask(99)


def test_a_property_that_no_type_declares_is_refused(store: Store) -> None:
    execution_id, outputs = begin(store, outputs={"examples": Examples})
    outputs["examples"][0].properties["colour"] = "red"
    with pytest.raises(ValueError, match="Examples declares no property 'colour'; it has span"):
        store.publish(execution_id, outputs)
    assert store.execution(execution_id).state == ExecutionState.RUNNING


def test_a_property_cannot_change_its_type(store: Store) -> None:
    class Other(Artifact):
        TYPE_NAME = "Notes"
        PROPERTIES: ClassVar = {"pages": Property(PropertyType.STRING)}

    begin(store, outputs={"notes": Notes})
    with pytest.raises(StoreError, match=r"knows Notes.pages as INT, and .* as STRING"):
        begin(store, outputs={"notes": Other})


@pytest.mark.slow
def test_a_question_takes_as_many_statements_for_thirty_runs_as_for_two(
    file_store: Store,
) -> None:
    store = file_store
    questions = [
        lambda: store.executions(pipeline_name="penguin"),
        lambda: store.artifacts(pipeline_name="penguin", node_id="Trainer"),
        lambda: store.runs("penguin"),
        lambda: store.find_unfinished("penguin"),
    ]
    for number in range(2):
        run(store, f"run-{number}")
    begin(store, run_id="run-1")
    assert store.moved_roots == {}  # which is asked once
    before = [statements(store, ask) for ask in questions]
    for number in range(2, 30):
        run(store, f"run-{number}")
        begin(store, run_id=f"run-{number}")
    assert [statements(store, ask) for ask in questions] == before
    assert max(before) <= 10


def test_a_second_store_sees_what_the_first_wrote(store: Store, config: StoreConfig) -> None:
    _, model = train(store, make_examples(store))
    with Store(config) as second:
        assert second.artifact(model.id).uri == model.uri


def test_a_store_is_made_with_its_folders_and_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a" / "what? 100%.db"
    with Store(StoreConfig(f"sqlite:///{path}")) as store:
        run(store, "run-1")
    assert path.exists()


def test_a_store_of_another_version_says_what_to_do(
    file_store: Store, file_config: StoreConfig
) -> None:
    file_store.close()
    with sqlite3.connect(str(file_config.path)) as connection:
        connection.execute("UPDATE MLMDEnv SET schema_version = 8")
    connection.close()
    with pytest.raises(StoreError, match=r"metadata\.db has MLMD schema version 8, .* with 10\."):
        Store(file_config)


def test_a_file_that_is_not_a_database_is_named(file_config: StoreConfig) -> None:
    assert file_config.path
    Path(file_config.path).write_text(
        "This is a letter, and long enough to be taken for a file header." * 3
    )
    with pytest.raises(StoreError, match=r"metadata\.db failed: .* not an SQLite file"):
        Store(file_config)


def test_a_database_of_another_program_is_left_alone(file_config: StoreConfig) -> None:
    connection = sqlite3.connect(str(file_config.path))
    connection.execute("CREATE TABLE songs (title)")
    connection.close()
    before = Path(str(file_config.path)).read_bytes()
    with pytest.raises(StoreError, match=r"not a metadata store: it has the tables songs"):
        Store(file_config)
    assert Path(str(file_config.path)).read_bytes() == before


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/metadata\.db cannot be made"):
        Store(StoreConfig(f"sqlite:///{tmp_path}/file/metadata.db"))
    with pytest.raises(StoreError, match="Check that it is a file"):
        Store(StoreConfig(f"sqlite:///{tmp_path}"))


def test_readers_go_on_while_one_writes(store: Store, config: StoreConfig) -> None:
    make_examples(store)
    with Store(config) as reader:

        def outputs(_: int) -> dict[str, list[Artifact]]:
            assert len(reader.artifacts()) == 1
            assert len(reader.executions()) == 1
            return {}

        store.begin_execution(
            pipeline_name="penguin",
            run_id="run-1",
            node_id="Trainer",
            type_name=TRAINER,
            properties={},
            inputs={},
            outputs=outputs,
        )
        assert len(reader.executions()) == 2


def test_an_input_from_outside_is_recorded_as_it_is_used(store):
    data = Examples()
    data.uri = "/data"
    execution_id = store.begin_execution(
        pipeline_name="p",
        run_id="r",
        node_id="n",
        type_name="Step",
        properties={},
        inputs={"examples": [data]},
        outputs=lambda _: {},
    )
    assert store.inputs(execution_id)["examples"][0].id == data.id > 0
    assert store.artifacts(uri="/data")[0].state == State.LIVE
