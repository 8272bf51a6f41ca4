# SPDX-License-Identifier: Apache-2.0
"""ExampleGen through LocalDagRunner: spans and the cache, and columns that anyone may delete."""

import shutil
from pathlib import Path

import pytest

from stoker.artifacts import Examples, Model
from stoker.cli.clean import find_leftovers
from stoker.cli.verify import list_damage
from stoker.components.example_gen.component import CsvExampleGen, JsonExampleGen, ParquetExampleGen
from stoker.components.importer import Importer
from stoker.components.schema_gen import ImportSchemaGen
from stoker.components.transform.component import Transform
from stoker.dsl import InputArtifact, OutputArtifact, Pipeline, component
from stoker.dsl.proto import example_gen_pb2
from stoker.errors import BadPipeline, StepFailed
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner
from stoker.storage.digests import describe

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]

MODULE = """
import tensorflow_transform as tft

def preprocessing_fn(inputs):
    return {
        "n": tft.scale_to_z_score(inputs["n"]),
        "word": tft.compute_and_apply_vocabulary(inputs["word"]),
    }
"""
SCHEMA = """
feature { name: "n" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "word" type: BYTES }
"""


@component
def count(examples: InputArtifact[Examples], model: OutputArtifact[Model]):
    Path(model.uri, "splits").write_text(str(len(list(Path(examples.uri).glob("Split-*")))))


def run(root, *steps, force=()):
    """What every step gave, and why it ran or did not."""
    pipeline = Pipeline("data", str(root), components=list(steps), enable_cache=True)
    outputs = LocalDagRunner().run(pipeline, force=force).outputs
    with Store(pipeline.store_config(str(root))) as store:
        newest = {one.node_id: one for one in store.executions(pipeline_name="data")}
        assert not any("columns" in one.path for one in find_leftovers(store))
    return outputs, {
        node: one.properties.get("cache_explanation", "") for node, one in newest.items()
    }


def test_a_new_span_is_read_and_an_old_one_is_not_read_again(tmp_path):
    def write(span):
        (tmp_path / "in" / f"day-{span}").mkdir(parents=True)
        (tmp_path / "in" / f"day-{span}" / "rows.csv").write_text(f"n\n{span}\n")

    def go():
        given = {"splits": [{"name": "all", "pattern": "day-{SPAN}/*"}]}
        outputs, why = run(tmp_path / "root", CsvExampleGen(str(tmp_path / "in"), given, {}))
        return outputs["CsvExampleGen"]["examples"][0].span, why["CsvExampleGen"]

    with pytest.raises(BadPipeline, match="No file of a span matches"):
        go()
    write(3)
    assert go()[0] == 3
    assert go() == (3, "hit: nothing changed since execution 1")
    write(10)
    span, why = go()
    assert span == 10
    assert "day-10/rows.csv is new" in why


def test_without_the_columns_everything_is_as_it_was(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(50)))
    steps = CsvExampleGen(str(tmp_path / "in"))
    root = tmp_path / "root"
    outputs, _ = run(root, steps, count(examples=steps.outputs["examples"]))
    (examples,) = outputs["CsvExampleGen"]["examples"]
    before = describe(examples.uri).digest
    assert list(Path(examples.uri, "columns").rglob("*.arrow"))
    shutil.rmtree(Path(examples.uri, "columns"))
    assert list_damage(examples) == []
    assert describe(examples.uri).digest == before == examples.custom_properties["content_digest"]
    steps = CsvExampleGen(str(tmp_path / "in"))
    _, why = run(root, steps, count(examples=steps.outputs["examples"]))
    assert all(text.startswith("hit") for text in why.values()), why
    importer = Importer(source_uri=examples.uri, artifact_type=Examples)
    _, why = run(root, importer, count(examples=importer.outputs["result"]))
    assert why["count"].startswith("hit")


@pytest.mark.parametrize(
    ("step", "text", "says"),
    [
        (ParquetExampleGen, "not Parquet", "cannot be read as Parquet"),
        (JsonExampleGen, '{"a": 1}\n[]\n', "line 2: a line needs a JSON object"),
    ],
)
def test_a_file_that_is_wrong_fails_the_step_with_the_place(tmp_path, step, text, says):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_text(text)
    with pytest.raises(StepFailed, match=says):
        run(tmp_path / "root", step(str(tmp_path / "in")))


@pytest.mark.tf
def test_transform_gives_the_same_with_and_without_columns(tmp_path):
    for name, text in (("module.py", MODULE), ("schema.pbtxt", SCHEMA)):
        (tmp_path / name).write_text(text)
    (tmp_path / "in").mkdir()
    rows = "".join(f"{i}.5,{'' if i % 7 else f'word {i % 11}'}\n" for i in range(20_000))
    (tmp_path / "in" / "rows.csv").write_text(f"n,word\n{rows}")

    def go(force=()):
        examples = CsvExampleGen(str(tmp_path / "in"))
        schema = ImportSchemaGen(str(tmp_path / "schema.pbtxt"))
        transform = Transform(
            examples=examples.outputs["examples"],
            schema=schema.outputs["schema"],
            module_file=str(tmp_path / "module.py"),
        )
        outputs, _ = run(tmp_path / "root", examples, schema, transform, force=force)
        return outputs

    first = go()
    (examples,) = first["CsvExampleGen"]["examples"]
    shutil.rmtree(Path(examples.uri, "columns"))
    second = go(force=["Transform"])
    (with_columns,) = first["Transform"]["transformed_examples"]
    (without,) = second["Transform"]["transformed_examples"]
    assert with_columns.uri != without.uri
    assert describe(with_columns.uri).digest == describe(without.uri).digest
    assert len(list(Path(without.uri, "columns").rglob("*.arrow"))) >= 2


def test_each_split_warns_of_its_own_files_once(tmp_path, capsys):
    splits = []
    for name in ("train", "eval"):
        (tmp_path / f"{name}.csv").write_text("n\n" + "1\n" * 30 + "NA\n")
        splits.append(example_gen_pb2.Input.Split(name=name, pattern=f"{name}.csv"))
    step = CsvExampleGen(str(tmp_path), input_config=example_gen_pb2.Input(splits=splits))
    run(tmp_path / "root", step)
    shown = "".join(capsys.readouterr())
    for name in ("train", "eval"):
        assert shown.count(f"{name}.csv, line 32, column 'n': NA is no number") == 1
