# SPDX-License-Identifier: Apache-2.0
"""What people do with ml-metadata, one function each; what they get is printed as JSON.

python mlmd_uses.py FOLDER

It runs with the stand-in and with ml-metadata itself, in an environment of its own. Times and
messages of errors are left out: everything else must be the same.
"""

import json
import os
import sys
from typing import Any

import ml_metadata as mlmd
from google.protobuf import json_format, struct_pb2
from ml_metadata import errors
from ml_metadata.metadata_store import metadata_store
from ml_metadata.proto import metadata_store_pb2 as pb

TIMES = ("create_time_since_epoch", "last_update_time_since_epoch", "milliseconds_since_epoch")


def plain(found: Any) -> Any:
    """Messages as dicts without times, lists of them, or anything else as it is."""
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    if not hasattr(found, "DESCRIPTOR"):
        return found
    fields = json_format.MessageToDict(found, preserving_proto_field_name=True)
    return {name: value for name, value in fields.items() if name not in TIMES}


def error_of(call: Any, *args: Any, **kwargs: Any) -> Any:
    """The kind of error that a call raises, or what it returns."""
    try:
        return plain(call(*args, **kwargs))
    except errors.StatusError as error:
        return [type(error).__name__, error.error_code]
    except (TypeError, ValueError, RuntimeError) as error:
        return type(error).__name__


def options(**kwargs: Any) -> Any:
    return metadata_store.ListOptions(**kwargs)


def ids(found: Any) -> list[int]:
    return [one.id for one in found]


def text(value: str) -> pb.Value:
    return pb.Value(string_value=value)


def register(store: Any) -> dict[str, int]:
    """The types of the tutorial: a data set, a model, a trainer, an experiment."""
    data = pb.ArtifactType(name="DataSet", properties={"day": pb.INT, "split": pb.STRING})
    model = pb.ArtifactType(name="SavedModel", base_type=pb.ArtifactType.MODEL)
    model.properties["version"] = pb.INT
    model.properties["name"] = pb.STRING
    trainer = pb.ExecutionType(name="Trainer", properties={"state": pb.STRING})
    experiment = pb.ContextType(name="Experiment", properties={"note": pb.STRING})
    return {
        "data": store.put_artifact_type(data),
        "model": store.put_artifact_type(model),
        "trainer": store.put_execution_type(trainer),
        "experiment": store.put_context_type(experiment),
    }


def train(store: Any, types: dict[str, int]) -> dict[str, Any]:
    """A data set, a model, the execution between them, in an experiment."""
    data = pb.Artifact(uri="path/to/data", type_id=types["data"], name="first data")
    data.properties["day"].int_value = 1
    data.properties["split"].string_value = "train"
    [data_id] = store.put_artifacts([data])
    run = pb.Execution(type_id=types["trainer"], properties={"state": text("RUNNING")})
    [run_id] = store.put_executions([run])
    read = pb.Event(artifact_id=data_id, execution_id=run_id, type=pb.Event.DECLARED_INPUT)
    read.path.steps.add().key = "examples"
    read.path.steps.add().index = 0
    store.put_events([read])
    model = pb.Artifact(uri="path/to/model", type_id=types["model"], state=pb.Artifact.LIVE)
    model.properties["version"].int_value = 1
    model.properties["name"].string_value = "MNIST-v1"
    model.custom_properties["accuracy"].double_value = 0.97
    model.custom_properties["good"].bool_value = True
    model.custom_properties["layers"].struct_value.update({"units": [8, 8], "bias": None})
    model.custom_properties["any"].proto_value.Pack(struct_pb2.Value(number_value=1))
    [model_id] = store.put_artifacts([model])
    written = pb.Event(artifact_id=model_id, execution_id=run_id, type=pb.Event.DECLARED_OUTPUT)
    store.put_events([written])
    run.id = run_id
    run.properties["state"].string_value = "COMPLETED"
    run.last_known_state = pb.Execution.COMPLETE
    store.put_executions([run])
    experiment = pb.Context(type_id=types["experiment"], name="exp1")
    experiment.properties["note"].string_value = "My first experiment."
    [experiment_id] = store.put_contexts([experiment])
    store.put_attributions_and_associations(
        [pb.Attribution(artifact_id=model_id, context_id=experiment_id)],
        [pb.Association(execution_id=run_id, context_id=experiment_id)],
    )
    return {"data": data_id, "run": run_id, "model": model_id, "experiment": experiment_id}


def read_types(store: Any, types: dict[str, int]) -> dict[str, Any]:
    return {
        "one": plain(store.get_artifact_type("SavedModel")),
        "all": plain(store.get_artifact_types()),
        "executions": plain(store.get_execution_types()),
        "contexts": plain(store.get_context_types()),
        "by id": plain(store.get_artifact_types_by_id([types["data"], 999])),
        "unknown": error_of(store.get_artifact_type, "Nothing"),
        "unknown execution": error_of(store.get_execution_type, "Nothing"),
        "unknown context": error_of(store.get_context_type, "Nothing"),
    }


def change_types(store: Any, types: dict[str, int]) -> dict[str, Any]:
    more = pb.ArtifactType(name="DataSet", properties={"day": pb.INT, "split": pb.STRING})
    more.properties["rows"] = pb.INT
    fewer = pb.ArtifactType(name="DataSet", properties={"day": pb.INT})
    other = pb.ArtifactType(name="DataSet", properties={"day": pb.STRING})
    same = pb.ArtifactType(name="DataSet", properties={"day": pb.INT, "split": pb.STRING})
    return {
        "same": store.put_artifact_type(same) == types["data"],
        "more": error_of(store.put_artifact_type, more),
        "more allowed": error_of(store.put_artifact_type, more, can_add_fields=True),
        "fewer": error_of(store.put_artifact_type, fewer),
        "fewer allowed": error_of(store.put_artifact_type, fewer, can_omit_fields=True),
        "other kind": error_of(store.put_artifact_type, other, can_add_fields=True),
        "no name": error_of(store.put_artifact_type, pb.ArtifactType()),
        "unknown kind": error_of(
            store.put_artifact_type, pb.ArtifactType(name="X", properties={"a": pb.UNKNOWN})
        ),
        "version": error_of(
            store.put_artifact_type,
            pb.ArtifactType(name="DataSet", version="2", description="newer", external_id="ds2"),
        ),
        "of a version": plain(store.get_artifact_type("DataSet", "2")),
        "by external id": plain(store.get_artifact_types_by_external_ids(["ds2"])),
        "afterwards": plain(store.get_artifact_type("DataSet")),
    }


def read_artifacts(store: Any, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "all": plain(store.get_artifacts()),
        "by id": plain(store.get_artifacts_by_id([made["model"], 999])),
        "by type": plain(store.get_artifacts_by_type("DataSet")),
        "by unknown type": plain(store.get_artifacts_by_type("Nothing")),
        "by uri": plain(store.get_artifacts_by_uri("path/to/model")),
        "by name": plain(store.get_artifact_by_type_and_name("DataSet", "first data")),
        "no such name": store.get_artifact_by_type_and_name("DataSet", "none"),
        "by context": plain(store.get_artifacts_by_context(made["experiment"])),
        "no such context": error_of(store.get_artifacts_by_context, 999),
        "with types": [
            ids(found) for found in store.get_artifacts_and_types_by_artifact_ids([made["model"]])
        ],
    }


def read_executions(store: Any, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "all": plain(store.get_executions()),
        "by id": plain(store.get_executions_by_id([made["run"]])),
        "by type": plain(store.get_executions_by_type("Trainer")),
        "by context": plain(store.get_executions_by_context(made["experiment"])),
        "no such name": store.get_execution_by_type_and_name("Trainer", "none"),
        "events": plain(store.get_events_by_execution_ids([made["run"]])),
        "events of artifacts": plain(store.get_events_by_artifact_ids([made["model"]])),
        "no events": error_of(store.get_events_by_artifact_ids, [999]),
    }


def read_contexts(store: Any, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "all": plain(store.get_contexts()),
        "by id": plain(store.get_contexts_by_id([made["experiment"]])),
        "by type": plain(store.get_contexts_by_type("Experiment")),
        "by name": plain(store.get_context_by_type_and_name("Experiment", "exp1")),
        "no such name": store.get_context_by_type_and_name("Experiment", "exp2"),
        "of an artifact": plain(store.get_contexts_by_artifact(made["model"])),
        "of an execution": plain(store.get_contexts_by_execution(made["run"])),
        "of none": error_of(store.get_contexts_by_execution, 999),
    }


def nest_contexts(store: Any, types: dict[str, int], made: dict[str, Any]) -> dict[str, Any]:
    child = pb.Context(type_id=types["experiment"], name="exp1 again")
    [child_id] = store.put_contexts([child])
    link = pb.ParentContext(child_id=child_id, parent_id=made["experiment"])
    store.put_parent_contexts([link])
    return {
        "parents": plain(store.get_parent_contexts_by_context(child_id)),
        "children": plain(store.get_children_contexts_by_context(made["experiment"])),
        "twice": error_of(store.put_parent_contexts, [link]),
        "unknown": error_of(
            store.put_parent_contexts, [pb.ParentContext(child_id=999, parent_id=child_id)]
        ),
        "half": error_of(store.put_parent_contexts, [pb.ParentContext(child_id=child_id)]),
    }


def refuse(store: Any, types: dict[str, int], made: dict[str, Any]) -> dict[str, Any]:
    """What must not be written."""
    model, run = made["model"], made["run"]
    kind = types["data"]
    same = {"artifact_id": model, "execution_id": run}
    wrong = pb.Artifact(type_id=kind)
    wrong.properties["day"].string_value = "Monday"
    undeclared = pb.Artifact(type_id=kind)
    undeclared.properties["night"].int_value = 1
    [unnamed] = store.put_artifacts([pb.Artifact(type_id=kind)])
    return {
        "no type": error_of(store.put_artifacts, [pb.Artifact(uri="x")]),
        "unknown type": error_of(store.put_artifacts, [pb.Artifact(type_id=999)]),
        "a type of executions": error_of(
            store.put_artifacts, [pb.Artifact(type_id=types["trainer"])]
        ),
        "wrong kind of value": error_of(store.put_artifacts, [wrong]),
        "undeclared property": error_of(store.put_artifacts, [undeclared]),
        "unknown id": error_of(store.put_artifacts, [pb.Artifact(id=999, type_id=kind)]),
        "another type": error_of(store.put_artifacts, [pb.Artifact(id=model, type_id=kind)]),
        "same name": error_of(store.put_artifacts, [pb.Artifact(type_id=kind, name="first data")]),
        "unnamed": plain(store.get_artifacts_by_id([unnamed])),
        "context without a name": error_of(
            store.put_contexts, [pb.Context(type_id=types["experiment"])]
        ),
        "context twice": error_of(
            store.put_contexts, [pb.Context(type_id=types["experiment"], name="exp1")]
        ),
        "event without a type": error_of(store.put_events, [pb.Event(**same)]),
        "event without an execution": error_of(
            store.put_events, [pb.Event(artifact_id=model, type=pb.Event.OUTPUT)]
        ),
        "event of nothing": error_of(
            store.put_events, [pb.Event(artifact_id=999, execution_id=run, type=pb.Event.OUTPUT)]
        ),
        "event twice": error_of(
            store.put_events, [pb.Event(**same, type=pb.Event.DECLARED_OUTPUT)]
        ),
        "attribution twice": error_of(
            store.put_attributions_and_associations,
            [pb.Attribution(artifact_id=model, context_id=made["experiment"])],
            [],
        ),
        "attribution to nothing": error_of(
            store.put_attributions_and_associations,
            [pb.Attribution(artifact_id=model, context_id=999)],
            [],
        ),
        "half": error_of(
            store.put_artifacts, [pb.Artifact(type_id=kind, uri="kept?"), pb.Artifact(uri="no")]
        ),
        "after half": plain(store.get_artifacts_by_uri("kept?")),
    }


def update(store: Any, types: dict[str, int], made: dict[str, Any]) -> dict[str, Any]:
    """An artifact is written again: what it no longer says is gone, but with a field mask."""
    [model] = store.get_artifacts_by_id([made["model"]])
    del model.custom_properties["good"]
    model.properties["version"].int_value = 2
    model.state = pb.Artifact.MARKED_FOR_DELETION
    store.put_artifacts([model])
    [whole] = store.get_artifacts_by_id([made["model"]])
    masked = pb.Artifact(id=model.id, type_id=model.type_id, uri="ignored")
    masked.custom_properties["accuracy"].double_value = 0.5
    masked.custom_properties["new"].int_value = 7
    store.put_artifacts([masked], field_mask_paths=["custom_properties.accuracy"])
    [part] = store.get_artifacts_by_id([made["model"]])
    renamed = pb.Artifact(id=made["data"], name="other name", external_id="d")
    store.put_artifacts([renamed])
    [data] = store.get_artifacts_by_id([made["data"]])
    seen = {"data": plain(data)}
    data.name, data.uri = "first data", "path/to/data"
    store.put_artifacts([data])
    store.put_executions([pb.Execution(id=made["run"], name="a run")])
    [run] = store.get_executions_by_id([made["run"]])
    seen["run"] = plain(run)
    run.last_known_state = pb.Execution.COMPLETE
    store.put_executions([run])
    context = pb.Context(id=made["experiment"], type_id=types["experiment"], name="renamed")
    store.put_contexts([context])
    [moved] = store.get_contexts_by_id([made["experiment"]])
    context.name = "exp1"
    context.properties["note"].string_value = "again"
    store.put_contexts([context])
    return {
        "whole": plain(whole),
        "part": plain(part),
        **seen,
        "context": plain(moved),
        "nothing": plain(store.put_artifacts([])),
    }


def publish(store: Any, types: dict[str, int], made: dict[str, Any]) -> dict[str, Any]:
    """An execution with its artifacts, events and contexts at once."""

    def put(name: str, **kwargs: Any) -> Any:
        execution = pb.Execution(type_id=types["trainer"], last_known_state=pb.Execution.RUNNING)
        used = pb.Artifact(id=made["data"], type_id=types["data"], name="first data")
        used.uri = "path/to/data"
        new = pb.Artifact(type_id=types["model"], uri=f"path/to/{name}", external_id=name)
        context = pb.Context(type_id=types["experiment"], name=name)
        return store.put_execution(
            execution,
            [(used, pb.Event(type=pb.Event.INPUT)), (new, pb.Event(type=pb.Event.OUTPUT))],
            [context],
            **kwargs,
        )

    run, artifacts, contexts = put("second")
    return {
        "ids": [run, artifacts, contexts],
        "events": plain(store.get_events_by_execution_ids([run])),
        "in the context": plain(store.get_artifacts_by_context(contexts[0])),
        "context again": error_of(put, "second"),
        "reused": error_of(
            put,
            "second",
            reuse_context_if_already_exist=True,
            reuse_artifact_if_already_exist_by_external_id=True,
        ),
        "by external id": plain(store.get_artifacts_by_external_ids(["second"])),
    }


QUERIES = [
    'uri = "path/to/model"',
    "type = 'SavedModel'",
    'type = "SavedModel" AND state = MARKED_FOR_DELETION',
    "id = 1 OR id = 2",
    "id IN (1, 2, 3)",
    "NOT id > 1",
    "id != 1 and (id < 3 or id >= 4)",
    "name = 'first data'",
    "name LIKE 'first%'",
    "name IS NULL",
    "name IS NOT NULL",
    "external_id = 'second'",
    "create_time_since_epoch > 0",
    "type_id = 999",
    "properties.day.int_value = 1",
    "properties.version.int_value >= 1",
    "properties.name.string_value = 'MNIST-v1'",
    "custom_properties.accuracy.double_value < 0.9",
    "custom_properties.good.bool_value = true",
    "custom_properties.nothing.int_value = 1",
    'contexts_a.name = "exp1"',
    'contexts_a.type = "Experiment" AND contexts_a.name = "second"',
    "contexts_0.id = 1",
    'contexts_a.name = "exp1" AND contexts_b.name = "second"',
    "events_0.execution_id = 1",
    "events_0.type = DECLARED_INPUT",
    "events_0.type = INPUT OR events_0.type = OUTPUT",
    "nonsense",
    "id = ",
    "unknown_field = 1",
    "id = 1 ORDER BY id",
]


def list_artifacts(store: Any) -> dict[str, Any]:
    orders = metadata_store.OrderByField
    return {
        **{
            query: error_of(lambda q: ids(store.get_artifacts(options(filter_query=q))), query)
            for query in QUERIES
        },
        "two": ids(store.get_artifacts(options(limit=2))),
        "newest two": ids(store.get_artifacts(options(limit=2, order_by=orders.ID, is_asc=False))),
        "by time": sorted(ids(store.get_artifacts(options(order_by=orders.CREATE_TIME)))),
        "no limit": error_of(store.get_artifacts, options(limit=0)),
        "executions": ids(
            store.get_executions(options(filter_query="last_known_state = COMPLETE"))
        ),
        "executions in": ids(
            store.get_executions(options(filter_query='contexts_a.name = "exp1"'))
        ),
        "executions of": ids(
            store.get_executions(options(filter_query="events_0.artifact_id = 2"))
        ),
        "contexts": ids(
            store.get_contexts(
                options(filter_query='type = "Experiment" AND properties.note.string_value != ""')
            )
        ),
        "child contexts": ids(
            store.get_contexts(options(filter_query='parent_contexts_p.name = "exp1"'))
        ),
        "parent contexts": ids(
            store.get_contexts(options(filter_query='child_contexts_c.name = "exp1 again"'))
        ),
        "contexts of": ids(store.get_contexts(options(filter_query="artifacts_0.id = 2"))),
        "of a context": ids(store.get_artifacts_by_context(1, options(limit=1))),
    }


def trace(store: Any, made: dict[str, Any]) -> dict[str, Any]:
    directions = pb.LineageSubgraphQueryOptions.Direction

    def graph(direction: Any, hops: int, **starting: Any) -> Any:
        query = pb.LineageSubgraphQueryOptions(direction=direction, max_num_hops=hops, **starting)
        masks = ["artifacts", "executions", "events"]
        found = store.get_lineage_subgraph(query, masks)
        return {
            "artifacts": sorted(ids(found.artifacts)),
            "executions": sorted(ids(found.executions)),
            "events": sorted([one.execution_id, one.artifact_id] for one in found.events),
        }

    model = {"starting_artifacts": {"filter_query": f"id = {made['model']}"}}
    run = {"starting_executions": {"filter_query": f"id = {made['run']}"}}
    data = {"starting_artifacts": {"filter_query": f"id = {made['data']}"}}
    return {
        "upstream": graph(directions.UPSTREAM, 20, **model),
        "one hop": graph(directions.UPSTREAM, 1, **model),
        "no hop": graph(directions.UPSTREAM, 0, **model),
        "downstream": graph(directions.DOWNSTREAM, 20, **data),
        "both": graph(directions.BIDIRECTIONAL, 20, **run),
    }


def open_stores(folder: str) -> dict[str, Any]:
    """Every way to say where a store is."""
    fake = pb.ConnectionConfig()
    fake.fake_database.SetInParent()
    memory = metadata_store.MetadataStore(fake)
    memory.put_artifact_type(pb.ArtifactType(name="Here"))
    other = mlmd.MetadataStore(fake)
    no_file = pb.ConnectionConfig()
    no_file.sqlite.SetInParent()
    unnamed = mlmd.MetadataStore(no_file)
    unnamed.put_artifact_type(pb.ArtifactType(name="Here"))
    file = pb.ConnectionConfig()
    file.sqlite.filename_uri = os.path.join(folder, "other.db")
    file.sqlite.connection_mode = pb.SqliteMetadataSourceConfig.READWRITE_OPENCREATE
    mlmd.MetadataStore(file).put_context_type(pb.ContextType(name="There"))
    file.sqlite.connection_mode = pb.SqliteMetadataSourceConfig.READONLY
    reader = mlmd.MetadataStore(file)
    missing = pb.ConnectionConfig()
    missing.sqlite.filename_uri = os.path.join(folder, "missing.db")
    missing.sqlite.connection_mode = pb.SqliteMetadataSourceConfig.READWRITE
    return {
        "in memory": ids(memory.get_artifact_types()),
        "another memory": ids(other.get_artifact_types()),
        "sqlite without a file": ids(unnamed.get_artifact_types()),
        "another without a file": ids(mlmd.MetadataStore(no_file).get_artifact_types()),
        "read only": [one.name for one in reader.get_context_types()],
        "write read only": error_of(reader.put_context_type, pb.ContextType(name="Nowhere")),
        "nothing said": error_of(mlmd.MetadataStore, pb.ConnectionConfig()),
        "missing": error_of(mlmd.MetadataStore, missing),
    }


def main(folder: str, config: Any = None) -> dict[str, Any]:
    if config is None:
        config = pb.ConnectionConfig()
        config.sqlite.filename_uri = os.path.join(folder, "metadata.db")
    store = metadata_store.MetadataStore(config)
    types = register(store)
    made = train(store, types)
    return {
        "register": types,
        "train": made,
        "read_types": read_types(store, types),
        "change_types": change_types(store, types),
        "read_artifacts": read_artifacts(store, made),
        "read_executions": read_executions(store, made),
        "read_contexts": read_contexts(store, made),
        "nest_contexts": nest_contexts(store, types, made),
        "refuse": refuse(store, types, made),
        "update": update(store, types, made),
        "publish": publish(store, types, made),
        "list_artifacts": list_artifacts(store),
        "trace": trace(store, made),
        "open_stores": open_stores(folder),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), indent=1))
