# SPDX-License-Identifier: Apache-2.0
"""ExampleGens of users' own: a PTransform says how to read, everything else is as in the others."""

import json
import os
from hashlib import sha256

import apache_beam as beam
import pytest
from apache_beam import typehints
from apache_beam.typehints.trivial_inference import infer_return_type
from tfx.components.example_gen import base_example_gen_executor, utils
from tfx.components.example_gen.base_example_gen_executor import BaseExampleGenExecutor
from tfx.components.example_gen.component import FileBasedExampleGen, QueryBasedExampleGen
from tfx.components.example_gen.csv_example_gen import executor as csv_executor
from tfx.dsl.components.base import executor_spec
from tfx.proto import example_gen_pb2, range_config_pb2
from tfx.types import artifact_utils

from stoker.components.example_gen.component import CsvExampleGen
from stoker.dsl.proto.example_pb2 import Example

LINES = [f"{number} word{number % 5}" for number in range(60)]


def make_example(line):
    number, word = line.split()
    made = Example()
    made.features.feature["number"].int64_list.value.append(int(number))
    made.features.feature["word"].bytes_list.value.append(word.encode())
    return made


@beam.ptransform_fn
@beam.typehints.with_input_types(beam.Pipeline)
def ReadLines(pipeline, exec_properties, split_pattern):
    pattern = os.path.join(exec_properties["input_base"], split_pattern)
    return pipeline | beam.io.ReadFromText(pattern) | beam.Map(make_example)


class LineExecutor(BaseExampleGenExecutor):
    def GetInputSourceToExamplePTransform(self):
        return ReadLines


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.txt").write_text("\n".join(LINES))
    return str(tmp_path / "in")


def own(folder, executor=LineExecutor, **arguments):
    spec = executor_spec.BeamExecutorSpec(executor)
    return FileBasedExampleGen(input_base=folder, custom_executor_spec=spec, **arguments)


def bucket(key, total):
    return int(sha256(key).hexdigest(), 16) % total


def serialized(lines=LINES):
    return [make_example(line).SerializeToString(deterministic=True) for line in lines]


def test_records_are_split_by_their_hash_and_keep_their_order(folder, run, records):
    examples = run(own(folder), LineExecutor)
    assert examples.split_names == '["train", "eval"]'
    assert records(examples, "train") == [one for one in serialized() if bucket(one, 3) < 2]
    assert records(examples, "eval") == [one for one in serialized() if bucket(one, 3) == 2]
    assert os.listdir(examples.path(split="eval")) == ["data_tfrecord-00000-of-00001.gz"]
    assert examples.get_string_custom_property("payload_format") == "FORMAT_TF_EXAMPLE"
    fingerprint = examples.get_string_custom_property("input_fingerprint")
    assert fingerprint.startswith("split:single_split,num_files:1,total_bytes:")


def test_a_feature_may_decide_the_split(folder, run, records):
    splits = [{"name": "a", "hash_buckets": 1}, {"name": "b", "hash_buckets": 1}]
    config = {"split_config": {"splits": splits, "partition_feature_name": "word"}}
    examples = run(own(folder, output_config=config), LineExecutor)

    def words(split):
        found = [Example.FromString(record) for record in records(examples, split)]
        return {one.features.feature["word"].bytes_list.value[0] for one in found}

    assert words("a") | words("b") == {b"word%d" % number for number in range(5)}
    assert not words("a") & words("b")


def test_the_newest_span_is_read_and_the_pattern_is_filled_in(tmp_path, run, records):
    for day in (1, 12):
        (tmp_path / f"day-{day:02}").mkdir()
        (tmp_path / f"day-{day:02}" / "lines.txt").write_text(f"{day} word")
    splits = [example_gen_pb2.Input.Split(name="new", pattern="day-{SPAN:2}/*.txt")]
    config = example_gen_pb2.Input(splits=splits)
    step = own(str(tmp_path), input_config=config, output_config=example_gen_pb2.Output())
    examples = run(step, LineExecutor)
    assert (examples.span, examples.version) == (12, 0)
    assert records(examples, "new") == serialized(["12 word"])
    old = range_config_pb2.RangeConfig(
        static_range=range_config_pb2.StaticRange(start_span_number=1, end_span_number=1)
    )
    step = own(str(tmp_path), input_config=config, output_config={}, range_config=old)
    assert run(step, LineExecutor, "old").span == 1


@beam.ptransform_fn
def MakeNumbers(pipeline, exec_properties, split_pattern):
    config = json.loads(exec_properties["custom_config"])
    assert exec_properties["_beam_pipeline_args"] == []
    return pipeline | beam.Create(serialized([f"{n} {split_pattern}" for n in range(config["to"])]))


class NumberExecutor(BaseExampleGenExecutor):
    def GetInputSourceToExamplePTransform(self):
        return MakeNumbers


def test_a_dict_is_a_custom_config_and_no_file_need_be_there(run, records):
    step = own("dummy", NumberExecutor, custom_config={"to": 3}, output_config={})
    examples = run(step, NumberExecutor)
    assert records(examples, "single_split") == serialized(["0 *", "1 *", "2 *"])


def test_a_query_is_told_its_day(run, records):
    class Ask(QueryBasedExampleGen):
        EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(NumberExecutor)

    day = utils.date_to_span_number(2020, 2, 29)
    step = Ask(
        input_config=utils.make_default_input_config("@span_yyyymmdd_utc"),
        output_config=example_gen_pb2.Output(),
        custom_config={"to": 1},
        range_config={"static_range": {"start_span_number": day, "end_span_number": day}},
    )
    examples = run(step, NumberExecutor)
    assert records(examples, "single_split") == serialized(["0 '20200229'"])
    assert examples.span == day


@beam.ptransform_fn
def ReadArtifact(pipeline, input_dict, exec_properties, split_pattern):
    folder = artifact_utils.get_single_uri(input_dict[base_example_gen_executor.INPUT_KEY])
    lines = pipeline | beam.io.ReadFromText(os.path.join(folder, split_pattern))
    return lines | beam.Map(make_example)


class OldExecutor(BaseExampleGenExecutor):
    """As in TFX 0.21, where the folder was an artifact."""

    def GetInputSourceToExamplePTransform(self):
        return ReadArtifact


class JoiningExecutor(BaseExampleGenExecutor):
    def GenerateExamplesByBeam(self, pipeline, exec_properties):
        lines = pipeline | beam.io.ReadFromText(os.path.join(exec_properties["input_base"], "*"))
        made = lines | beam.Map(make_example)
        return {"first": made, "again": made | "Again" >> beam.Filter(lambda one: True)}


def test_executors_of_older_editions_and_those_with_splits_of_their_own_run(folder, run, records):
    step = own(folder, OldExecutor, output_config={})
    assert records(run(step, OldExecutor), "single_split") == serialized()
    joined = run(own(folder, JoiningExecutor), JoiningExecutor, "joined")
    assert joined.splits == ["first", "again"]
    assert records(joined, "again") == serialized()


class FromElsewhere(csv_executor.Executor):
    """Finds its folder by itself, as executors do that get it from another step."""

    def Do(self, input_dict, output_dict, exec_properties):
        super().Do(input_dict, output_dict, {**exec_properties, "input_base": self.folder})


def test_the_executor_of_csv_files_can_be_built_upon(tmp_path, run, records, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("x\n" + "\n".join(map(str, range(10))))
    monkeypatch.setattr(FromElsewhere, "folder", str(tmp_path / "in"), raising=False)
    examples = run(CsvExampleGen("nowhere", output_config={}), FromElsewhere)
    assert len(records(examples, "single_split")) == 10


def test_what_is_no_example_is_named(folder, run):
    @beam.ptransform_fn
    def ReadDicts(pipeline, exec_properties, split_pattern):
        return pipeline | beam.Create([{"a": 1}])

    class Executor(BaseExampleGenExecutor):
        def GetInputSourceToExamplePTransform(self):
            return ReadDicts

    with pytest.raises(TypeError, match=r"gave dict: \{'a': 1\}.*beam\.Map\(dict_to_example\)"):
        run(own(folder, output_config={}), Executor)


def test_beam_does_not_take_for_a_dict_what_dict_to_example_gives():
    def make(line):
        return utils.dict_to_example({"number": int(line)})

    assert infer_return_type(make, [str]) is typehints.Any


def test_an_executor_that_reads_nothing_is_told_what_to_define(folder, run):
    class Executor(BaseExampleGenExecutor):
        pass

    with pytest.raises(NotImplementedError, match="Executor says nowhere how it reads: define"):
        run(own(folder), Executor)


def test_what_cannot_be_is_refused_when_declared(folder):
    with pytest.raises(ValueError, match="FileBasedExampleGen needs a custom_executor_spec"):
        FileBasedExampleGen(input_base=folder)
    with pytest.raises(ValueError, match="output_data_format is one of FORMAT_TF_EXAMPLE"):
        own(folder, output_data_format=example_gen_pb2.FORMAT_PARQUET)
    query = utils.make_default_input_config("SELECT 1")
    with pytest.raises(ValueError, match="QueryBasedExampleGen needs a custom_executor_spec"):
        QueryBasedExampleGen(query)


def test_the_files_of_a_folder_of_folders_are_known(tmp_path):
    for name in ("cat/1.png", "dog/2.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"png")
    step = own(str(tmp_path))
    assert step.external_files(step.spec.values({})) == [
        str(tmp_path / "cat/1.png"),
        str(tmp_path / "dog/2.png"),
    ]
    assert own("dummy").external_files(own("dummy").spec.values({})) == []
