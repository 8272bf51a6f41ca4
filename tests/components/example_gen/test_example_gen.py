# SPDX-License-Identifier: Apache-2.0
"""ExampleGen: files in, split examples out, the same rows in the same splits as in TFX."""

import hashlib
import subprocess
import sys

import pytest

from stoker.artifacts import ExternalArtifact
from stoker.components.example_gen import CsvExampleGen, ImportExampleGen
from stoker.components.example_gen.executor import ImportExecutor
from stoker.dsl import Channel
from stoker.errors import BadData
from stoker.examples.tfrecord import write_records
from stoker.proto import example_gen_pb2
from stoker.proto.example_pb2 import Example

CSV = "id,weight,name\n" + "".join(f"{i},{i}.5,{'' if i % 3 else f'n{i}'}\n" for i in range(40))


@pytest.fixture
def data_dir(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text(CSV)
    return str(tmp_path / "data")


def example(i):
    """A row of CSV, built feature by feature with protobuf."""
    built = Example()
    built.features.feature["id"].int64_list.value.append(i)
    built.features.feature["weight"].float_list.value.append(i + 0.5)
    names = built.features.feature["name"].bytes_list
    names.SetInParent()
    names.value.extend([] if i % 3 else [f"n{i}".encode()])
    return built


def bucket(key, total):
    return int(hashlib.sha256(key).hexdigest(), 16) % total


def test_each_row_lands_in_the_split_of_its_hash(data_dir, run, records):
    examples = run(CsvExampleGen(input_base=data_dir))
    rows = [example(i).SerializeToString(deterministic=True) for i in range(40)]
    assert records(examples, "train") == [row for row in rows if bucket(row, 3) < 2]
    assert records(examples, "eval") == [row for row in rows if bucket(row, 3) == 2]
    assert len(records(examples, "eval")) > 5


def test_the_output_carries_what_tfx_records(data_dir, run):
    examples = run(CsvExampleGen(data_dir))
    assert examples.split_names == '["train", "eval"]'
    assert (examples.span, examples.version) == (0, 0)
    assert examples.get_string_custom_property("file_format") == "tfrecords_gzip"
    assert examples.get_string_custom_property("payload_format") == "FORMAT_TF_EXAMPLE"
    fingerprint = examples.get_string_custom_property("input_fingerprint")
    assert fingerprint.startswith(f"split:single_split,num_files:1,total_bytes:{len(CSV)},")


def test_a_feature_can_decide_the_split(data_dir, run, records):
    output = example_gen_pb2.Output()
    output.split_config.partition_feature_name = "id"
    output.split_config.splits.add(name="a", hash_buckets=1)
    output.split_config.splits.add(name="b", hash_buckets=3)
    examples = run(CsvExampleGen(data_dir, output_config=output))
    keys = [example(i).features.feature["id"].SerializeToString() for i in range(40)]
    expected = [i for i in range(40) if bucket(keys[i], 4) < 1]
    found = [Example.FromString(one) for one in records(examples, "a")]
    assert [one.features.feature["id"].int64_list.value[0] for one in found] == expected


@pytest.mark.parametrize(("feature", "says"), [("nope", "columns are"), ("weight", "neither")])
def test_a_feature_that_cannot_decide_is_named(data_dir, run, feature, says):
    output = {
        "split_config": {
            "partition_feature_name": feature,
            "splits": [{"name": "all", "hash_buckets": 1}],
        }
    }
    with pytest.raises(BadData, match=f"rows.csv cannot be split by .*{feature}.*{says}"):
        run(CsvExampleGen(data_dir, output_config=output))


def test_named_input_splits_are_kept(tmp_path, run, records):
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text(f"a\n{name}\n")
    given = example_gen_pb2.Input()
    given.splits.add(name="train", pattern="train*")
    given.splits.add(name="test", pattern="test*")
    examples = run(CsvExampleGen(str(tmp_path), input_config=given))
    assert examples.splits == ["train", "test"]
    (record,) = records(examples, "test")
    assert Example.FromString(record).features.feature["a"].bytes_list.value == [b"test"]


@pytest.mark.parametrize("base", ["data", "data/rows.csv", "data/*.csv"])
def test_the_base_is_a_folder_a_file_or_a_glob(tmp_path, data_dir, run, base, records):
    examples = run(CsvExampleGen(str(tmp_path / base)))
    assert len(records(examples, "train")) + len(records(examples, "eval")) == 40


def test_the_old_keyword_takes_what_external_input_gave(data_dir):
    artifact = ExternalArtifact()
    artifact.uri = data_dir
    channel = Channel(ExternalArtifact).set_artifacts([artifact])
    for source in (channel, data_dir):
        assert CsvExampleGen(input=source).exec_properties["input_base"] == data_dir


def test_imported_records_are_split_like_rows_and_kept_as_they_are(tmp_path, run, records):
    unsorted = [example(i).SerializeToString() for i in range(40)]
    write_records(str(tmp_path / "in" / "some.tfrecord"), unsorted[:20])
    write_records(str(tmp_path / "in" / "some.tfrecord.gz"), unsorted[20:])
    examples = run(ImportExampleGen(str(tmp_path / "in")), ImportExecutor)
    keys = [example(i).SerializeToString(deterministic=True) for i in range(40)]
    expected = [unsorted[i] for i in range(40) if bucket(keys[i], 3) < 2]
    assert records(examples, "train") == expected


def test_a_record_that_is_no_example_is_named(tmp_path, run):
    write_records(str(tmp_path / "in" / "x"), [b"", b"\x0f not an example"])
    with pytest.raises(BadData, match=r"x, record 1: this is not a tf\.Example"):
        run(ImportExampleGen(str(tmp_path / "in")), ImportExecutor)


def test_a_folder_without_files_is_named(tmp_path, run):
    with pytest.raises(BadData, match=r"No file matches '.*/empty"):
        run(CsvExampleGen(str(tmp_path / "empty")))


def test_splits_that_cannot_be_are_refused_when_declared():
    two = example_gen_pb2.Input()
    two.splits.add(name="a", pattern="a*")
    two.splits.add(name="b", pattern="b*")
    hashed = example_gen_pb2.Output()
    hashed.split_config.splits.add(name="all", hash_buckets=1)
    with pytest.raises(ValueError, match="splits one input, but input_config has 2"):
        CsvExampleGen("data", input_config=two, output_config=hashed)
    hashed.split_config.splits.add(name="all", hash_buckets=1)
    with pytest.raises(ValueError, match="different names"):
        CsvExampleGen("data", output_config=hashed)


def test_declaring_data_steps_loads_nothing_heavy():
    code = (
        "import sys, stoker.examples\n"
        "from stoker.components import example_gen, statistics_gen, schema_gen\n"
        "example_gen.CsvExampleGen('data')\n"
        "heavy = {'tensorflow', 'pyarrow', 'numpy', 'pandas', 'tfx_bsl', 'sqlalchemy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
