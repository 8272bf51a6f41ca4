# SPDX-License-Identifier: Apache-2.0
"""What ml-metadata itself does with a store; runs in ml-metadata's own environment.

python mlmd_client.py read PATH     print everything in the store as JSON
python mlmd_client.py write PATH    write a small TFX-like run into the store

Without a path, the variable MLMD_CONFIG has the ConnectionConfig as JSON. MLMD_INT is a number to
write: the tables that ml-metadata makes on servers have room for 32 bits.
"""

import json
import os
import sys
from typing import Any

from google.protobuf import json_format, struct_pb2
from ml_metadata import metadata_store
from ml_metadata.proto import metadata_store_pb2 as pb

KINDS = {
    "i": pb.INT,
    "d": pb.DOUBLE,
    "s": pb.STRING,
    "j": pb.STRUCT,
    "p": pb.PROTO,
    "b": pb.BOOLEAN,
}


def plain(message: Any) -> Any:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def names(contexts: Any) -> list[str]:
    return sorted(f"{context.type}:{context.name}" for context in contexts)


def ids(found: Any) -> list[int]:
    return sorted(one.id for one in found)


def filtered(query: str) -> metadata_store.ListOptions:
    return metadata_store.ListOptions(filter_query=query)


def lineage(store: Any, artifact_id: int) -> dict[str, list[int]]:
    options = pb.LineageSubgraphQueryOptions(
        starting_artifacts={"filter_query": f"id = {artifact_id}"},
        direction=pb.LineageSubgraphQueryOptions.Direction.UPSTREAM,
        max_num_hops=20,
    )
    graph = store.get_lineage_subgraph(options, ["artifacts", "executions", "events"])
    return {
        "artifacts": ids(graph.artifacts),
        "executions": ids(graph.executions),
        "events": sorted([event.execution_id, event.artifact_id] for event in graph.events),
    }


def read(store: Any) -> dict[str, Any]:
    artifacts, executions = store.get_artifacts(), store.get_executions()
    contexts = store.get_contexts()
    models = [artifact.id for artifact in artifacts if artifact.type == "Model"]
    return {
        "artifact_types": {one.name: plain(one) for one in store.get_artifact_types()},
        "execution_types": {one.name: plain(one) for one in store.get_execution_types()},
        "contexts": {f"{one.type}:{one.name}": plain(one) for one in contexts},
        "parents": {
            one.name: names(store.get_parent_contexts_by_context(one.id)) for one in contexts
        },
        "artifacts": {one.id: plain(one) for one in artifacts},
        "executions": {one.id: plain(one) for one in executions},
        "events": [plain(one) for one in store.get_events_by_execution_ids(ids(executions))],
        "attributions": {
            one.id: names(store.get_contexts_by_artifact(one.id)) for one in artifacts
        },
        "associations": {
            one.id: names(store.get_contexts_by_execution(one.id)) for one in executions
        },
        "lineage": lineage(store, models[0]) if models else {},
        "live_models": ids(store.get_artifacts(filtered('type = "Model" AND state = LIVE'))),
        "accurate": ids(
            store.get_artifacts(filtered("custom_properties.accuracy.double_value > 0.9"))
        ),
        "of_run": ids(store.get_executions(filtered('contexts_r.name = "run-1"'))),
        "by_uri": ids(store.get_artifacts_by_uri("/pipeline/Trainer/model/2")),
    }


def write(store: Any) -> None:
    artifact_type = store.put_artifact_type(pb.ArtifactType(name="Everything", properties=KINDS))
    artifact = pb.Artifact(type_id=artifact_type, uri="/mlmd/everything", state=pb.Artifact.LIVE)
    artifact.properties["i"].int_value = int(os.environ.get("MLMD_INT", 2**60))
    artifact.properties["d"].double_value = 0.1
    artifact.properties["s"].string_value = "hé 'quoted'"
    artifact.properties["j"].struct_value.update({"a": [1, 2.5, None, True, "x", {"k": []}]})
    if "MLMD_OLD" not in os.environ:  # older versions have no room for these
        artifact.properties["p"].proto_value.Pack(struct_pb2.Struct())
        artifact.properties["b"].bool_value = False
    artifact.custom_properties["name"].string_value = "as TFX names it"
    artifact.custom_properties["list"].struct_value.update({"__value__": [1, 2]})
    execution = pb.Execution(
        type_id=store.put_execution_type(
            pb.ExecutionType(
                name="Maker", properties={"steps": pb.INT}, base_type=pb.ExecutionType.TRAIN
            )
        ),
        last_known_state=pb.Execution.COMPLETE,
    )
    execution.properties["steps"].int_value = 5
    execution.custom_properties["note"].string_value = "custom"
    event = pb.Event(type=pb.Event.OUTPUT)
    event.path.steps.add().key = "result"
    event.path.steps.add().index = 0
    contexts = [
        pb.Context(type_id=store.put_context_type(pb.ContextType(name=kind)), name=name)
        for kind, name in (("pipeline", "taxi"), ("pipeline_run", "r"), ("node", "taxi.maker"))
    ]
    store.put_execution(
        execution, [(artifact, event)], contexts, reuse_context_if_already_exist=True
    )


def downgrade_schema(config: Any, version: int) -> None:
    from ml_metadata.metadata_store import metadata_store as of_its_own

    of_its_own.downgrade_schema(config, version)


def main(command: str, path: str = "") -> None:
    config = pb.ConnectionConfig()
    if path:
        config.sqlite.filename_uri = path
        config.sqlite.connection_mode = pb.SqliteMetadataSourceConfig.READWRITE_OPENCREATE
    else:
        json_format.Parse(os.environ["MLMD_CONFIG"], config)
    if command.startswith("downgrade:"):
        downgrade_schema(config, int(command.partition(":")[2]))
        return
    store = metadata_store.MetadataStore(config, enable_upgrade_migration=command == "upgrade")
    if command == "upgrade":
        store.get_artifact_types()
    elif command == "write":
        write(store)
    else:
        print(json.dumps(read(store)))


if __name__ == "__main__":
    main(*sys.argv[1:])
