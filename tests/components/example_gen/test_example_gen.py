# SPDX-License-Identifier: Apache-2.0
"""ExampleGen: files in, split examples out, the same rows in the same splits as in TFX."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.artifacts import ExternalArtifact
from stoker.components.example_gen.component import (
    CsvExampleGen,
    FileBasedExampleGen,
    ImportExampleGen,
    JsonExampleGen,
    ParquetExampleGen,
)
from stoker.components.example_gen.executor import (
    ImportExecutor,
    JsonExecutor,
    ParquetExecutor,
    _import,
)
from stoker.data.columns import read_columns
from stoker.data.decode import decode
from stoker.data.encode import encode_feature
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records, write_records
from stoker.dsl import BeamExecutorSpec, Channel
from stoker.dsl.proto import example_gen_pb2
from stoker.dsl.proto.example_pb2 import BytesList, Example, Feature, FloatList, Int64List
from stoker.errors import BadData

ALL = {"splits": [{"name": "all", "pattern": "*"}]}
SPLITS = [{"name": "a", "hash_buckets": 1}, {"name": "b", "hash_buckets": 1}]
CSV = "id,weight,name\n" + "".join(f"{i},{i}.5,{'' if i % 3 else f'n{i}'}\n" for i in range(40))


@pytest.fixture
def data_dir(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text(CSV)
    return str(tmp_path / "data")


def read_table(shards):
    """All examples, from the records."""
    batches = [batch for shard in shards for batch in decode(read_records(shard))]
    table = pa.concat_tables(
        [pa.Table.from_batches([batch]) for batch in batches], promote_options="default"
    )
    return table.select(sorted(table.column_names))


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


@pytest.mark.parametrize(
    "last",
    ["1.5,x,x", "1,word,x", "1,2,x", f"1,,{'y' * 9000}"],
    ids=["float", "word", "late", "long"],
)
def test_a_row_that_is_not_like_the_first_ones_changes_all(tmp_path, run, monkeypatch, last):
    monkeypatch.setattr("stoker.data.csv._BLOCK_BYTES", 1000)
    monkeypatch.setattr("stoker.data.shards._SHARD_BYTES", 5000)
    (tmp_path / "in").mkdir()
    rows = ["1,,x"] * 2000 + [last]
    (tmp_path / "in" / "rows.csv").write_text("\n".join(["a,b,c", *rows]))
    examples = run(CsvExampleGen(str(tmp_path / "in"), ALL, {}))
    shards = matching_files(examples.path(split="all"))
    number, word, _ = last.split(",")
    table = read_table(shards)
    assert table.num_rows == 2001
    assert table["a"][0].as_py() == [1]
    assert table["a"][-1].as_py() == [float(number)]
    assert table["b"][0].as_py() == ([] if word else None)
    assert table["b"][-1].as_py() == {"": None, "2": [2]}.get(word, [word.encode()])
    assert len(os.listdir(examples.path(split="all"))) == len(shards) > 1
    assert len(list(Path(examples.uri, "columns").rglob("*.arrow"))) == len(shards)


def test_the_output_carries_what_tfx_records(data_dir, run):
    examples = run(CsvExampleGen(data_dir))
    assert examples.split_names == '["train", "eval"]'
    assert (examples.span, examples.version) == (0, 0)
    assert examples.custom_properties["span"] == 0
    assert not examples.has_custom_property("version")
    assert examples.get_string_custom_property("file_format") == "tfrecords_gzip"
    assert examples.get_string_custom_property("payload_format") == "FORMAT_TF_EXAMPLE"
    fingerprint = examples.get_string_custom_property("input_fingerprint")
    assert fingerprint.startswith(f"split:single_split,num_files:1,total_bytes:{len(CSV)},")


def test_span_and_version_are_custom_properties_too(tmp_path, run):
    (tmp_path / "3" / "v2").mkdir(parents=True)
    (tmp_path / "3" / "v2" / "rows.csv").write_text("a\n1\n")
    pattern = {"splits": [{"name": "all", "pattern": "{SPAN}/v{VERSION}/*"}]}
    examples = run(CsvExampleGen(str(tmp_path), pattern, {}))
    assert (examples.span, examples.version) == (3, 2)
    assert examples.get_int_custom_property("span") == 3
    assert examples.get_int_custom_property("version") == 2


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


def test_an_input_that_is_split_needs_no_name(tmp_path, data_dir, run, records):
    (tmp_path / "export-2").symlink_to(data_dir)
    given = example_gen_pb2.Input()
    given.splits.add(pattern="export-{SPAN}/*")
    examples = run(CsvExampleGen(str(tmp_path), input_config=given))
    assert (examples.splits, examples.span) == (["train", "eval"], 2)
    assert len(records(examples, "train")) + len(records(examples, "eval")) == 40


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


def feature_of(value):
    """One feature as TFX's ExampleGens for rows of Python values make it."""
    values = value if isinstance(value, list) else [value]
    match values:
        case [] | [None]:
            return Feature()
        case [int(), *_]:
            return Feature(int64_list=Int64List(value=map(int, values)))
        case [float(), *_]:
            return Feature(float_list=FloatList(value=values))
    encoded = [one.encode() for one in values]
    return Feature(bytes_list=BytesList(value=encoded))


ROWS = [
    {"n": i if i % 3 else None, "f": i / 4, "w": f"n{i}", "l": [i] * (i % 3), "t": bool(i % 2)}
    for i in range(40)
]


def write_parquet(path):
    pq.write_table(pa.Table.from_pylist(ROWS), path)


def write_json(path):
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("step", "executor", "write"),
    [
        (ParquetExampleGen, ParquetExecutor, write_parquet),
        (JsonExampleGen, JsonExecutor, write_json),
        (FileBasedExampleGen, ParquetExecutor, write_parquet),
    ],
)
def test_typed_rows_are_encoded_and_split_as_in_tfx(tmp_path, run, records, step, executor, write):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "data")
    custom = (
        {"custom_executor_spec": BeamExecutorSpec(executor)} if step is FileBasedExampleGen else {}
    )
    examples = run(step(str(tmp_path / "in"), **custom), executor)
    expected = [
        Example(features={"feature": {name: feature_of(value) for name, value in row.items()}})
        for row in ROWS
    ]
    keys = [one.SerializeToString(deterministic=True) for one in expected]
    assert records(examples, "train") == [key for key in keys if bucket(key, 3) < 2]
    assert records(examples, "eval") == [key for key in keys if bucket(key, 3) == 2]


def test_a_typed_row_without_the_feature_that_decides_is_refused(tmp_path, run):
    (tmp_path / "in").mkdir()
    write_parquet(tmp_path / "in" / "data")
    output = {"split_config": {"partition_feature_name": "n", "splits": SPLITS}}
    step = ParquetExampleGen(str(tmp_path / "in"), output_config=output)
    with pytest.raises(BadData, match=r"data cannot be split by .*'n': some rows do not have it"):
        run(step, ParquetExecutor)


@pytest.mark.parametrize("feature", ["", "id", "name"])
def test_the_columns_are_what_the_records_decode_to(data_dir, tmp_path, run, feature):
    output = {"split_config": {"partition_feature_name": feature, "splits": SPLITS}}
    by_rows = run(CsvExampleGen(data_dir, output_config=output), name="rows")
    imported = ImportExampleGen(f"{by_rows.uri}/Split-*/*", output_config=output)
    by_records = run(imported, ImportExecutor, name="records")
    for examples in (by_rows, by_records):
        for split in ("a", "b"):
            (shard,) = matching_files(examples.path(split=split))
            columns = read_columns([shard], decode_missing=False)
            decoded = read_table([shard])
            assert decoded.num_rows > 5
            assert pa.Table.from_batches(columns.blocks()) == decoded


def test_a_record_may_change_the_type_of_a_feature(tmp_path, run, records):
    two = [Example(), Example()]
    two[0].features.feature["a"].int64_list.value.append(1)
    two[1].features.feature["a"].float_list.value.append(1)
    serialized = [one.SerializeToString() for one in two]
    write_records(str(tmp_path / "in" / "x"), serialized)
    step = ImportExampleGen(str(tmp_path / "in"), {"splits": [{"name": "all", "pattern": "*"}]}, {})
    assert records(run(step, ImportExecutor), "all") == serialized


def varint(number):
    return encode_feature(pa.array([[number]], pa.large_list(pa.int64())))[0].as_py()[4:]


def message(field, *parts):
    body = b"".join(parts)
    return bytes([field << 3 | 2]) + varint(len(body)) + body


# Everything that protobuf reads in a tf.Example, in ways in which nobody writes it as well.
NUMBERS = st.lists(st.integers(0, 300).map(varint), max_size=3)
INTS = NUMBERS.map(lambda many: message(3, message(1, *many)) if many else message(3))
UNPACKED = NUMBERS.map(lambda many: message(3, *(b"\x08" + one for one in many)))
WORDS = st.lists(st.binary(max_size=3).map(lambda word: message(1, word)), max_size=3)
BYTES = WORDS.map(lambda many: message(1, *many))
FEATURES = st.one_of(INTS, UNPACKED, BYTES, st.just(b""), st.just(b"\x78\x01"))
KEYS = st.sampled_from([b"", b"a", b"ab", "é".encode()])
ENTRIES = st.one_of(
    st.builds(lambda key, value: message(1, message(1, key), message(2, value)), KEYS, FEATURES),
    st.builds(lambda key, value: message(1, message(2, value), message(1, key)), KEYS, FEATURES),
    FEATURES.map(lambda value: message(1, message(2, value))),
    KEYS.map(lambda key: message(1, message(1, key))),
)
EXAMPLES = st.lists(ENTRIES, max_size=4).map(lambda many: message(1, *many))


@given(st.lists(EXAMPLES | st.just(b""), min_size=1, max_size=4))
def test_any_example_is_split_by_its_deterministic_serialization(many):
    block = _import("file", 0, many, "")
    expected = [Example.FromString(one).SerializeToString(deterministic=True) for one in many]
    assert block.keys() == expected
    assert block.records.to_pylist() == many


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


@pytest.mark.slow
def test_declaring_data_steps_loads_nothing_heavy():
    code = (
        "import sys, stoker.data\n"
        "from stoker.components import CsvExampleGen, StatisticsGen, SchemaGen\n"
        "CsvExampleGen('data')\n"
        "heavy = {'tensorflow', 'pyarrow', 'numpy', 'pandas', 'tfx_bsl', 'sqlalchemy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sequence_examples_are_refused_and_not_read_as_examples_without_features(tmp_path, run):
    lists = b"\x12\x07\x0a\x05\x0a\x03abc"  # the field 2 of a tf.SequenceExample
    plain = example(1).SerializeToString()
    for number, record in enumerate([lists, plain + lists]):
        folder = tmp_path / f"in-{number}"
        folder.mkdir()
        write_records(str(folder / "data.tfrecord"), [plain, record])
        step = ImportExampleGen(str(folder))
        with pytest.raises(BadData, match=r"data\.tfrecord, record 1: .*a tf\.SequenceExample"):
            run(step, ImportExecutor, f"examples-{number}")
    kept = ImportExampleGen(str(folder), payload_format=example_gen_pb2.FORMAT_PROTO)
    assert run(kept, ImportExecutor, "kept").splits == ["train", "eval"]


def test_a_record_of_several_parts_is_one_example(tmp_path, run, records):
    (tmp_path / "in").mkdir()
    twice = example(0).SerializeToString() + Example().SerializeToString() + b"\x0a\x00"
    write_records(str(tmp_path / "in" / "data.tfrecord"), [twice, b""])
    examples = run(ImportExampleGen(str(tmp_path / "in"), ALL, {}), ImportExecutor)
    assert records(examples, "all") == [twice, b""]


def write_files(folder, *last_rows):
    folder.mkdir()
    for number, last in enumerate(last_rows):
        rows = [f"{number},{i / 8},w{i % 7}" for i in range(300)]
        text = "\n".join(["a,b,c", *rows, *([last] if last else []), ""])
        (folder / f"{number:02}.csv").write_text(text)
    return str(folder)


def test_each_shard_has_a_file_and_rows_stay_in_order(tmp_path, run, monkeypatch):
    monkeypatch.setenv("STOKER_SHARD_BYTES", "3000")
    data_dir = write_files(tmp_path / "in", *[""] * 6)
    (tmp_path / "in" / "06.csv").write_text("a,b,c\n")
    examples = run(CsvExampleGen(data_dir, ALL, {}))
    names = sorted(os.listdir(examples.path(split="all")))
    assert names == [f"data_tfrecord-{i:05}-of-00006.gz" for i in range(6)]
    table = read_table(matching_files(examples.path(split="all")))
    assert table["a"].to_pylist() == [[number] for number in range(6) for _ in range(300)]
    assert not list(Path(examples.uri).glob(".*"))


def test_a_surprise_in_a_late_shard_changes_the_types_of_all(tmp_path, run, monkeypatch):
    monkeypatch.setenv("STOKER_SHARD_BYTES", "3000")
    data_dir = write_files(tmp_path / "in", "", "", "", "2.5,1,x")
    examples = run(CsvExampleGen(data_dir, ALL, {}))
    table = read_table(matching_files(examples.path(split="all")))
    assert table["a"][0].as_py() == [0.0]
    assert table["a"][-1].as_py() == [2.5]
    assert table.num_rows == 1201
    assert not list(Path(examples.uri).glob(".*"))


def test_a_header_of_a_later_shard_is_held_against_the_first_one(tmp_path, run, monkeypatch):
    monkeypatch.setenv("STOKER_SHARD_BYTES", "3000")
    data_dir = write_files(tmp_path / "in", "", "")
    (tmp_path / "in" / "02.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadData, match=r"02\.csv has the columns .* but .*00\.csv has"):
        run(CsvExampleGen(data_dir, ALL, {}))
