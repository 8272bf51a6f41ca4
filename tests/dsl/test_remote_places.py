# SPDX-License-Identifier: Apache-2.0
"""What a pipeline reads and writes can be reached from here, or is refused at once."""

import importlib.util

import pytest

from stoker import components
from stoker.artifacts import Model, Schema
from stoker.dsl import ExecutorClassSpec, Pipeline, RuntimeParameter
from stoker.dsl.proto.example_gen_pb2 import Input
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.errors import BadPipeline
from stoker.runner import LocalDagRunner

BUCKET = "nowhere://bucket/folder"
EXAMPLES = components.CsvExampleGen("data").outputs["examples"]


class OwnExecutor:
    """Reads from wherever it can."""


def import_model() -> components.Importer:
    return components.Importer("model", Model)


REMOTE = {
    "input_base": lambda: components.CsvExampleGen(BUCKET),
    "input_config": lambda: components.CsvExampleGen(
        "data", input_config=Input(splits=[{"name": "all", "pattern": BUCKET + "/*.csv"}])
    ),
    "module_file": lambda: components.Trainer(examples=EXAMPLES, module_file=f"{BUCKET}/module.py"),
    "schema_file": lambda: components.ImportSchemaGen(f"{BUCKET}/schema.pbtxt"),
    "source_uri": lambda: components.Importer("nowhere://bucket/schema", Schema),
    "push_destination": lambda: components.Pusher(
        model=import_model().outputs["result"],
        push_destination=PushDestination(filesystem={"base_directory": BUCKET}),
    ),
}


@pytest.mark.parametrize("name", REMOTE)
def test_an_unknown_place_is_refused_where_the_pipeline_is_declared(name):
    step = REMOTE[name]()
    advice = "Put it there" if name == "input_config" else "Copy or mount"
    with pytest.raises(ValueError, match=rf"{step.id}: {name} .*://bucket/.*{advice}"):
        Pipeline("p", "root", components=[*step.upstream_nodes, step])


def test_an_unknown_root_is_refused_and_no_folder_of_that_name_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"pipeline_root=….*'nowhere://bucket/folder'"):
        Pipeline("p", BUCKET)
    pipeline = Pipeline("p", RuntimeParameter("root", ptype=str))
    with pytest.raises(ValueError, match=r"pipeline_root=….*'nowhere://bucket/folder'"):
        LocalDagRunner().run(pipeline, parameters={"root": BUCKET})
    assert not list(tmp_path.iterdir())


def test_an_executor_of_ones_own_may_read_from_anywhere():
    step = components.FileBasedExampleGen(
        input_base=BUCKET, custom_executor_spec=ExecutorClassSpec(OwnExecutor)
    )
    Pipeline("p", "root", components=[step])


def test_a_package_that_is_missing_is_named_where_the_pipeline_is_declared(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"'s3://b/root'.*pip install 'stoker\[s3\]'"):
        Pipeline("p", "s3://b/root")


def test_a_root_in_a_bucket_needs_a_store_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path))
    with pytest.raises(BadPipeline, match=r"lies elsewhere: STOKER_STORE=metadata\.db, "):
        LocalDagRunner().run(Pipeline("p", "memory://bucket/root"))
