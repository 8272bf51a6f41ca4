# SPDX-License-Identifier: Apache-2.0
"""Statistics held against a schema, split by split."""

import pyarrow as pa
import pytest

from stoker.artifacts import ExampleAnomalies, ExampleStatistics, Schema
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_validator import ExampleValidator, Executor
from stoker.components.schema_gen import ImportSchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.dsl import Channel, Pipeline
from stoker.errors import BadData, StepFailed
from stoker.runner import LocalDagRunner
from stoker.statistics.anomalies import read_anomalies
from stoker.statistics.compute import compute_statistics, write_statistics

BYTES = pa.large_list(pa.large_binary())
SCHEMA = """
feature {
  name: "kind"
  type: BYTES
  presence { min_fraction: 1 }
  string_domain { value: "a" value: "b" }
  drift_comparator { infinity_norm { threshold: 0.1 } }
  skew_comparator { infinity_norm { threshold: 0.1 } }
}
"""


def statistics_of(folder, **splits):
    made = ExampleStatistics()
    made.uri, made.splits, made.span = str(folder), list(splits), 7
    for split, words in splits.items():
        column = pa.array([[word.encode()] for word in words], BYTES)
        statistics = compute_statistics([pa.record_batch({"kind": column})])
        write_statistics(statistics, f"{made.path(split=split)}/FeatureStats.pb")
    return made


@pytest.fixture
def validate(tmp_path):
    schema = Schema()
    schema.uri = str(tmp_path / "schema")
    (tmp_path / "schema").mkdir()

    def run(statistics, text=SCHEMA, previous=None, serving=None, **parameters):
        (tmp_path / "schema" / "schema.pbtxt").write_text(text)
        given = {"statistics": [statistics], "schema": [schema]}
        given |= {"previous_statistics": [previous]} if previous else {}
        given |= {"serving_statistics": [serving]} if serving else {}
        component = ExampleValidator(Channel(ExampleStatistics), Channel(Schema), **parameters)
        made = ExampleAnomalies()
        made.uri = str(tmp_path / "anomalies")
        Executor().Do(given, {"anomalies": [made]}, component.spec.values({}))
        return made

    return run


def features(anomalies, split):
    return set(read_anomalies(f"{anomalies.path(split=split)}/SchemaDiff.pb").anomaly_info)


def test_each_split_has_its_anomalies_and_is_blessed_without_them(tmp_path, validate, capsys):
    anomalies = validate(statistics_of(tmp_path / "s", train="ab", eval="abc"))
    assert (features(anomalies, "train"), features(anomalies, "eval")) == (set(), {"kind"})
    assert (anomalies.splits, anomalies.span) == (["train", "eval"], 7)
    assert anomalies.get_json_value_custom_property("blessed") == {"train": 1, "eval": 0}
    assert capsys.readouterr().out == (
        "train: no anomalies\n"
        "eval: 1 anomaly\n"
        "  kind  Unexpected string values: 1 of 3 values are not in the domain: 'c' (1).\n"
    )


def test_an_excluded_split_is_not_looked_at(tmp_path, validate):
    anomalies = validate(
        statistics_of(tmp_path / "s", train="ab", eval="abc"), exclude_splits=["eval"]
    )
    assert anomalies.splits == ["train"]


def test_anomalies_can_fail_the_step_and_are_told(tmp_path, validate):
    with pytest.raises(BadData, match=r"1 of 3 values are not in the domain.*'c'"):
        validate(statistics_of(tmp_path / "s", train="abc"), fail_on_anomalies=True)


def test_data_without_anomalies_does_not_fail(tmp_path, validate):
    validate(statistics_of(tmp_path / "s", train="ab"), fail_on_anomalies=True)


def test_drift_is_looked_for_in_the_same_split(tmp_path, validate, capsys):
    now = statistics_of(tmp_path / "s", train="ab", eval="aa")
    validate(now, previous=statistics_of(tmp_path / "p", train="ab", eval="ab"))
    told = capsys.readouterr().out
    assert "train: no anomalies" in told
    assert "between these and the previous values is 0.5" in told


def test_serving_data_without_such_a_split_is_compared_by_its_only_one(tmp_path, validate, capsys):
    validate(
        statistics_of(tmp_path / "s", train="aa"), serving=statistics_of(tmp_path / "p", live="ab")
    )
    assert "between these and the serving values is 0.5" in capsys.readouterr().out


def test_an_empty_split_is_an_anomaly(tmp_path, validate, capsys):
    anomalies = validate(statistics_of(tmp_path / "s", train="ab", eval=""))
    assert anomalies.get_json_value_custom_property("blessed") == {"train": 1, "eval": 0}
    assert "No examples: There is no example in this split." in capsys.readouterr().out


def test_a_schema_of_other_data_says_what_is_missing_and_what_is_new(tmp_path, validate):
    other = 'feature { name: "other" type: INT presence { min_count: 1 } }'
    anomalies = validate(statistics_of(tmp_path / "s", train="ab"), other)
    assert features(anomalies, "train") == {"kind", "other"}


def test_a_schema_with_a_syntax_error_is_named_with_its_line(tmp_path, validate):
    with pytest.raises(BadData, match=r"schema\.pbtxt, line 2: .*tipe"):
        validate(statistics_of(tmp_path / "s", train="ab"), "feature {\n tipe: INT\n}")


def test_an_environment_is_one_of_the_schema(tmp_path, validate):
    with pytest.raises(ValueError, match="no environment 'SERVING'"):
        validate(statistics_of(tmp_path / "s", train="ab"), environment="SERVING")


@pytest.mark.tf
def test_a_pipeline_goes_on_with_anomalies_unless_it_is_told_not_to(tmp_path, capfd):
    rows = "".join(f"{number},{'abc'[number % 3]}\n" for number in range(60))
    (tmp_path / "rows.csv").write_text(f"id,kind\n{rows}")
    (tmp_path / "schema.pbtxt").write_text(SCHEMA + 'feature { name: "id" type: INT }')

    def run(**options):
        reading = CsvExampleGen(str(tmp_path / "rows.csv"))
        counting = StatisticsGen(examples=reading.outputs["examples"])
        importing = ImportSchemaGen(schema_file=str(tmp_path / "schema.pbtxt"))
        validating = ExampleValidator(
            statistics=counting.outputs["statistics"], schema=importing.outputs["schema"], **options
        )
        steps = [reading, counting, importing, validating]
        return LocalDagRunner().run(Pipeline("check", str(tmp_path / "root"), components=steps))

    (anomalies,) = run().outputs["ExampleValidator"]["anomalies"]
    assert features(anomalies, "eval") == {"kind"}
    assert anomalies.get_json_value_custom_property("blessed") == {"train": 0, "eval": 0}
    assert "values are not in the domain: 'c'" in capfd.readouterr().out
    with pytest.raises(StepFailed, match="values are not in the domain: 'c'"):
        run(fail_on_anomalies=True)
