# SPDX-License-Identifier: Apache-2.0
"""From examples to statistics to a schema, and a schema of one's own."""

import shutil

import pytest

from stoker.artifacts import Examples, ExampleStatistics, Schema
from stoker.components import schema_gen, statistics_gen
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_gen.executor import CsvExecutor
from stoker.components.schema_gen import (
    ImportSchemaExecutor,
    ImportSchemaGen,
    SchemaGen,
)
from stoker.components.statistics_gen import StatisticsGen
from stoker.dsl import Channel
from stoker.errors import BadData
from stoker.statistics.compute import compute_statistics, read_statistics, write_statistics
from stoker.statistics.data_schema import read_schema

CSV = "id,name\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(30))


def artifact(kind, path):
    made = kind()
    made.uri = str(path)
    return made


@pytest.fixture
def examples(tmp_path):
    (tmp_path / "rows.csv").write_text(CSV)
    made = artifact(Examples, tmp_path / "examples")
    component = CsvExampleGen(str(tmp_path / "rows.csv"))
    CsvExecutor().Do({}, {"examples": [made]}, component.spec.values({}))
    return made


@pytest.fixture
def statistics(tmp_path, examples):
    made = artifact(ExampleStatistics, tmp_path / "statistics")
    component = StatisticsGen(input_data=Channel(Examples))  # as the first editions called it
    statistics_gen.Executor().Do(
        {"examples": [examples]}, {"statistics": [made]}, component.spec.values({})
    )
    return made


def test_every_split_has_its_statistics(statistics):
    assert statistics.splits == ["train", "eval"]
    counts = [
        read_statistics(f"{statistics.path(split=split)}/FeatureStats.pb").datasets[0].num_examples
        for split in statistics.splits
    ]
    assert sum(counts) == 30
    assert min(counts) > 0


def test_examples_without_columns_have_the_same_statistics(tmp_path, examples, statistics):
    shutil.rmtree(tmp_path / "examples" / "columns")
    made = artifact(ExampleStatistics, tmp_path / "again")
    values = StatisticsGen(Channel(Examples)).spec.values({})
    statistics_gen.Executor().Do({"examples": [examples]}, {"statistics": [made]}, values)
    for split in statistics.splits:
        again, before = (f"{one.path(split=split)}/FeatureStats.pb" for one in (made, statistics))
        assert read_statistics(again) == read_statistics(before)


def test_an_excluded_split_has_none(tmp_path, examples):
    made = artifact(ExampleStatistics, tmp_path / "statistics")
    component = StatisticsGen(
        Channel(Examples), stats_options={"num_top_values": 1}, exclude_splits=["eval"]
    )
    statistics_gen.Executor().Do(
        {"examples": [examples]}, {"statistics": [made]}, component.spec.values({})
    )
    assert made.splits == ["train"]
    (dataset,) = read_statistics(f"{made.path(split='train')}/FeatureStats.pb").datasets
    assert [len(one.string_stats.top_values) for one in dataset.features] == [0, 1]


def test_options_are_those_of_TFDV_and_slices_do_not_change_the_schema(tmp_path, examples):
    import tensorflow_data_validation as tfdv
    from google.protobuf import text_format
    from tfx_bsl.public.proto import slicing_spec_pb2

    config = text_format.Parse(
        "slicing_specs { feature_keys: 'name' }", slicing_spec_pb2.SlicingConfig()
    )
    options = tfdv.StatsOptions(slicing_config=config, num_top_values=1)
    component = StatisticsGen(Channel(Examples), stats_options=options)
    made, inferred = (
        artifact(ExampleStatistics, tmp_path / "s"),
        artifact(Schema, tmp_path / "schema"),
    )
    statistics_gen.Executor().Do(
        {"examples": [examples]}, {"statistics": [made]}, component.spec.values({})
    )
    stats = tfdv.load_statistics(f"{made.path(split='train')}/FeatureStats.pb")
    assert [one.name for one in stats.datasets] == ["All Examples", "name_x", "name_y"]
    component = SchemaGen(Channel(ExampleStatistics))
    schema_gen.Executor().Do(
        {"statistics": [made]}, {"schema": [inferred]}, component.spec.values({})
    )
    schema = tfdv.load_schema_text(str(tmp_path / "schema" / "schema.pbtxt"))
    assert list(tfdv.get_domain(schema, "name").value) == ["x", "y"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"num_top_value": 1}, ValueError, "StatsOptions have no field 'num_top_value'"),
        ([1], TypeError, "Options of statistics are tfdv.StatsOptions, or a dict"),
        ({"generators": [1]}, ImportError, "do not have StatsOptions.generators"),
        ({"sample_rate": 2}, ValueError, "sample_rate is over 0 and at most 1, got 2"),
    ],
)
def test_options_that_are_not_followed_are_refused_when_declared(options, error, words):
    with pytest.raises(error, match=words):
        StatisticsGen(Channel(Examples), stats_options=options)


def test_the_schema_holds_for_all_splits(tmp_path, statistics):
    made = artifact(Schema, tmp_path / "schema")
    component = SchemaGen(Channel(ExampleStatistics))
    schema_gen.Executor().Do(
        {"statistics": [statistics]}, {"schema": [made]}, component.spec.values({})
    )
    schema = read_schema(str(tmp_path / "schema" / "schema.pbtxt"))
    assert [(one.name, one.shape.dim[0].size) for one in schema.feature] == [("id", 1), ("name", 1)]
    assert list(schema.string_domain[0].value) == ["x", "y"]


def test_no_split_left_is_an_error(tmp_path, statistics):
    component = SchemaGen(Channel(ExampleStatistics), exclude_splits=["train", "eval"])
    with pytest.raises(ValueError, match="No split is left"):
        schema_gen.Executor().Do(
            {"statistics": [statistics]},
            {"schema": [artifact(Schema, tmp_path / "schema")]},
            component.spec.values({}),
        )


def test_no_examples_have_no_schema(tmp_path):
    statistics = artifact(ExampleStatistics, tmp_path / "statistics")
    statistics.splits = ["train"]
    path = f"{statistics.path(split='train')}/FeatureStats.pb"
    write_statistics(compute_statistics([]), path)
    given, values = (
        {"statistics": [statistics]},
        SchemaGen(Channel(ExampleStatistics)).spec.values({}),
    )
    with pytest.raises(BadData, match="is of no examples"):
        schema_gen.Executor().Do(given, {"schema": [artifact(Schema, tmp_path / "schema")]}, values)


def test_a_schema_of_ones_own_is_copied_with_its_comments(tmp_path):
    text = '# edited by hand\nfeature { name: "f" type: INT }\n'
    (tmp_path / "mine.pbtxt").write_text(text)
    made = artifact(Schema, tmp_path / "schema")
    component = ImportSchemaGen(schema_file=str(tmp_path / "mine.pbtxt"))
    ImportSchemaExecutor().Do({}, {"schema": [made]}, component.spec.values({}))
    assert (tmp_path / "schema" / "schema.pbtxt").read_text() == text


def test_a_schema_that_does_not_parse_is_not_copied(tmp_path):
    (tmp_path / "mine.pbtxt").write_text("feature {\n  nam: 'f'\n}\n")
    made = artifact(Schema, tmp_path / "schema")
    component = ImportSchemaGen(str(tmp_path / "mine.pbtxt"))
    with pytest.raises(BadData, match=r"mine\.pbtxt, line 2"):
        ImportSchemaExecutor().Do({}, {"schema": [made]}, component.spec.values({}))
    assert not (tmp_path / "schema").exists()
