# SPDX-License-Identifier: Apache-2.0
"""TFDV's functions where TFDV is not installed, called as its users call them."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

from stoker.errors import BadData, MissingPart
from stoker.stand_ins.tfdv import names

ROWS = "fare,payment\n1.5,Cash\n2.5,Card\n,Cash\n4.5,\n"


@pytest.fixture
def trips(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text(ROWS)
    return str(path)


@pytest.fixture
def stats(trips):
    return tfdv.generate_statistics_from_csv(trips)


def test_to_mention_TFDV_loads_nothing_heavy():
    code = "import tensorflow_data_validation as tfdv, sys; from tensorflow_data_validation "
    code += "import types, StatsOptions; tfdv.FeaturePath(['a']); StatsOptions(); "
    code += "print([n for n in ('tensorflow', 'numpy', 'pyarrow', 'pandas') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [name for many in names.HOMES.values() for name in many])
def test_every_name_of_the_table_is_there(name):
    assert getattr(tfdv, name)


@pytest.mark.parametrize(
    "path",
    [
        *("utils.slicing_util.get_feature_value_slicer", "utils.display_util.get_schema_dataframe"),
        *("utils.schema_util.get_feature", "utils.stats_util.load_statistics"),
        *("utils.schema_util.schema_pb2.IntDomain", "utils.stats_util.statistics_pb2.Histogram"),
        *("utils.io_util.read_file_to_string", "utils.anomalies_util.load_anomalies_binary"),
        *("coders.csv_decoder.DecodeCSV", "api.validation_api.validate_instance"),
        *("api.stats_api.GenerateStatistics", "statistics.stats_options.StatsOptions"),
        *("types.FeaturePath", "constants.DEFAULT_SLICE_KEY", "utils.path.FeaturePath"),
        *("version.__version__", "__version__", "utils.stats_gen_lib.get_csv_header"),
        "statistics.stats_impl.generate_statistics_in_memory",
        "statistics.stats_impl.GenerateStatisticsImpl",
    ],
)
def test_modules_are_reached_through_the_package(path):
    value = tfdv
    for step in path.split("."):
        value = getattr(value, step)
    assert value


@pytest.mark.parametrize("name", sorted(names.NOT_HERE))
def test_what_is_not_here_is_named_with_what_to_use(name):
    with pytest.raises(MissingPart, match=f"tensorflow_data_validation.{name} is not in this ver"):
        getattr(tfdv, name)


def test_a_module_that_is_not_here_is_named():
    with pytest.raises(MissingPart, match=r"tensorflow_data_validation.utils.top_k_\w+ is not"):
        _ = tfdv.utils.top_k_uniques_stats_util
    with pytest.raises(AttributeError):
        _ = tfdv.no_such_thing


def test_an_empty_cell_is_a_missing_value_and_columns_keep_their_order(stats):
    (dataset,) = stats.datasets
    assert [one.path.step[0] for one in dataset.features] == ["fare", "payment"]
    assert [one.num_stats.common_stats.num_missing for one in dataset.features[:1]] == [1]
    assert dataset.features[1].string_stats.common_stats.num_missing == 1
    assert dataset.num_examples == 4


def test_statistics_are_written_and_read_in_every_form(trips, tmp_path):
    record, text, binary = (str(tmp_path / name) for name in ("s.tfrecord", "s.pbtxt", "s.pb"))
    stats = tfdv.generate_statistics_from_csv(trips, output_path=record)
    tfdv.write_stats_text(stats, text)
    with open(binary, "wb") as file:
        file.write(stats.SerializeToString())
    for path in (record, text, binary):
        assert tfdv.load_statistics(path) == stats
    assert tfdv.load_stats_text(text) == tfdv.load_stats_binary(binary) == stats
    with pytest.raises(OSError, match="There is no file"):
        tfdv.load_statistics(str(tmp_path / "absent"))
    with pytest.raises(BadData, match="does not hold statistics"):
        tfdv.load_statistics(trips)


def test_schemas_and_anomalies_come_back_from_their_files(stats, tmp_path):
    path = str(tmp_path / "schema.pbtxt")
    schema = tfdv.infer_schema(stats)
    tfdv.write_schema_text(schema, path)
    assert tfdv.load_schema_text(path) == schema
    found = tfdv.validate_statistics(stats, schema_pb2.Schema())
    tfdv.write_anomalies_text(found, path)
    assert tfdv.load_anomalies_text(path) == found
    with pytest.raises(TypeError, match="A Schema is needed, got a str"):
        tfdv.write_schema_text("schema", path)


def test_types_of_the_schema_hold_and_columns_that_it_lacks_are_left_out(trips, tmp_path):
    schema = tfdv.infer_schema(tfdv.generate_statistics_from_csv(trips))
    options = tfdv.StatsOptions(schema=schema, infer_type_from_schema=True)
    path = tmp_path / "later.csv"
    path.write_text("fare,colour\n3,red\n")
    (dataset,) = tfdv.generate_statistics_from_csv(str(path), stats_options=options).datasets
    assert [(one.path.step[0], one.type) for one in dataset.features] == [
        ("fare", statistics_pb2.FeatureNameStatistics.FLOAT)
    ]
    path.write_text("fare\n3\nmuch\n")
    with pytest.raises(BadData, match="The column 'fare' is FLOAT in the schema, and a cell of it"):
        tfdv.generate_statistics_from_csv(str(path), stats_options=options)


def test_lift_by_a_label_is_said_to_be_left_out(trips, stats):
    schema = tfdv.infer_schema(stats)
    options = tfdv.StatsOptions(schema=schema, label_feature="fare")
    with pytest.warns(UserWarning, match="Lift statistics by the label 'fare' are TFDV's"):
        assert tfdv.generate_statistics_from_csv(trips, stats_options=options) == stats


def test_names_of_older_editions_work(trips):
    from tensorflow_data_validation.coders import tf_example_decoder

    from stoker.dsl.proto.example_pb2 import Example

    example = Example()
    example.features.feature["n"].int64_list.value.extend([1, 2])
    decoded = tf_example_decoder.TFExampleDecoder().decode(example.SerializeToString())
    assert decoded["n"].tolist() == [1, 2]
    options = tfdv.StatsOptions(feature_whitelist=["fare"])
    (dataset,) = tfdv.generate_statistics_from_csv(trips, stats_options=options).datasets
    assert [one.path.step[0] for one in dataset.features] == ["fare"]


@pytest.mark.slow
def test_an_installed_TFDV_comes_first(tmp_path):
    package = tmp_path / "tensorflow_data_validation"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = 'real'")
    code = "import tensorflow_data_validation as tfdv; import tfx.v1; print(tfdv.__version__)"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    assert run.stdout.strip() == "real"


def test_a_schema_is_edited_in_place(stats):
    schema = tfdv.infer_schema(stats)
    tfdv.get_domain(schema, "payment").value.append("Barter")
    assert schema.string_domain[0].value[-1] == "Barter"
    tfdv.get_feature(schema, tfdv.FeaturePath(["fare"])).presence.min_fraction = 0.5
    tfdv.set_domain(schema, "fare", schema_pb2.FloatDomain(min=0))
    assert tfdv.get_domain(schema, "fare").min == 0
    tfdv.set_domain(schema, "fare", "payment")
    assert schema.feature[0].domain == "payment"
    with pytest.raises(ValueError, match="no feature 'tip'; it has fare, payment"):
        tfdv.get_feature(schema, "tip")
    with pytest.raises(ValueError, match="no string_domain 'colours'"):
        tfdv.set_domain(schema, "fare", "colours")
    with pytest.raises(TypeError, match="got a int"):
        tfdv.set_domain(schema, "fare", 3)


def test_schema_transformations_are_applied(stats):
    def forget_domains(schema, of):
        assert of == stats.datasets[0]
        del schema.string_domain[:]
        return schema

    assert not tfdv.infer_schema(stats, schema_transformations=[forget_domains]).string_domain


def test_a_data_frame_is_counted_without_dates():
    frame = pd.DataFrame(
        {
            "n": [1, 2, 2],
            "x": [0.5, math.nan, 1.5],
            "w": pd.Categorical(["a", "b", "a"]),
            "when": pd.to_datetime(["2024-01-01"] * 3),
        }
    )
    (dataset,) = tfdv.generate_statistics_from_dataframe(frame, n_jobs=-1).datasets
    assert [one.path.step[0] for one in dataset.features] == ["n", "x", "w"]
    assert dataset.features[1].num_stats.common_stats.num_missing == 1
    assert dataset.features[2].string_stats.top_values[0].value == "a"
    with pytest.raises(TypeError, match=r"pandas.DataFrame is needed, got a dict"):
        tfdv.generate_statistics_from_dataframe({"n": [1]})
    with pytest.raises(ValueError, match="n_jobs"):
        tfdv.generate_statistics_from_dataframe(frame, n_jobs=0)


def test_a_sample_is_about_as_large_as_asked():
    frame = pd.DataFrame({"n": range(1000)})
    options = tfdv.StatsOptions(sample_rate=0.2)
    (dataset,) = tfdv.generate_statistics_from_dataframe(frame, options).datasets
    assert 130 < dataset.num_examples < 270


def test_slices_are_counted_and_found_by_their_keys(trips):
    by_payment = tfdv.utils.slicing_util.get_feature_value_slicer({"payment": None})
    only_cash = tfdv.experimental_get_feature_value_slicer({"payment": ["Cash"]})
    options = tfdv.StatsOptions(experimental_slice_functions=[by_payment])
    stats = tfdv.generate_statistics_from_csv(trips, stats_options=options)
    assert [one.name for one in stats.datasets] == ["All Examples", "payment_Cash", "payment_Card"]
    assert tfdv.get_slice_stats(stats, "payment_Cash").datasets[0].num_examples == 2
    with pytest.raises(ValueError, match="no slice 'Cash'; they have 'All Examples', 'payment_"):
        tfdv.get_slice_stats(stats, "Cash")
    options = tfdv.StatsOptions(slice_functions=[only_cash])
    stats = tfdv.generate_statistics_from_csv(trips, stats_options=options)
    assert len(stats.datasets) == 2
    assert tfdv.infer_schema(stats) == tfdv.infer_schema(tfdv.generate_statistics_from_csv(trips))
    view = tfdv.DatasetListView(stats)
    assert view.get_default_slice().get_feature("fare").numeric_statistics().max == 4.5


def test_a_slicing_config_means_the_same(trips):
    from tfx_bsl.public.proto import slicing_spec_pb2

    config = text_format.Parse(
        "slicing_specs { feature_values { key: 'payment' value: 'Cash' } }",
        slicing_spec_pb2.SlicingConfig(),
    )
    stats = tfdv.generate_statistics_from_csv(
        trips, stats_options=tfdv.StatsOptions(slicing_config=config)
    )
    assert [one.name for one in stats.datasets] == ["All Examples", "payment_Cash"]


def test_drift_between_slices_is_found(trips):
    slicer = tfdv.experimental_get_feature_value_slicer({"payment": None})
    options = tfdv.StatsOptions(experimental_slice_functions=[slicer])
    stats = tfdv.generate_statistics_from_csv(trips, stats_options=options)
    schema = tfdv.infer_schema(stats)
    tfdv.get_domain(schema, "payment").value.remove("Card")
    found = tfdv.validate_corresponding_slices(stats, schema)
    assert set(found.anomaly_info) == {
        "slice(All Examples)::payment",
        "slice(payment_Card)::payment",
    }


def test_examples_are_held_against_the_schema_one_by_one(trips, tmp_path):
    schema = tfdv.infer_schema(tfdv.generate_statistics_from_csv(trips))
    path = tmp_path / "later.csv"
    path.write_text("fare,payment\n1.5,Cash\n2.5,Barter\n3.5,Cash\n")
    options = tfdv.StatsOptions(schema=schema)
    stats, samples = tfdv.validate_examples_in_csv(str(path), options, num_sampled_examples=5)
    (reason,) = samples
    assert reason == "payment_ENUM_TYPE_UNEXPECTED_STRING_VALUES"
    assert samples[reason].to_dict("records") == [{"fare": 2.5, "payment": b"Barter"}]
    assert [(one.name, one.num_examples) for one in stats.datasets] == [(reason, 1)]
    batch = pa.record_batch({"payment": pa.array([[b"Barter"]])})
    found = tfdv.validate_instance(batch, options)
    assert set(found.anomaly_info) == {"payment", "fare"}


def test_numbers_that_are_categories_are_still_held_against_their_domain():
    """TFDV does not look at them: a 2 among booleans is no anomaly to it."""
    schema = text_format.Parse(
        "feature { name: 'b' type: INT bool_domain {} }", schema_pb2.Schema()
    )
    stats = tfdv.generate_statistics_from_dataframe(
        pd.DataFrame({"b": [0, 2]}), tfdv.StatsOptions(schema=schema)
    )
    assert set(tfdv.validate_statistics(stats, schema).anomaly_info) == {"b"}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sample_rate": 2}, ValueError, "sample_rate is over 0 and at most 1, got 2"),
        ({"feature_allowlist": "fare"}, TypeError, "feature_allowlist is a list, got 'fare'"),
        ({"vocab_paths": {"v": "v.txt"}}, MissingPart, "vocab_paths"),
        ({"generators": [object()]}, MissingPart, "generators"),
        ({"experimental_slice_sqls": ["SELECT"]}, MissingPart, "experimental_slice_sqls"),
        ({"num_histogram_buckets": 0}, ValueError, "num_histogram_buckets must be at least 1"),
    ],
)
def test_options_that_are_wrong_or_not_followed_are_refused(options, error, words, trips):
    with pytest.raises(error, match=re.escape(words)):
        tfdv.generate_statistics_from_csv(trips, stats_options=tfdv.StatsOptions(**options))


def test_options_come_back_from_JSON_of_both(stats):
    options = tfdv.StatsOptions(
        schema=tfdv.infer_schema(stats), feature_allowlist=["fare"], num_histogram_buckets=3
    )
    record = json.loads(options.to_json())
    assert (record["TYPE_NAME"], record["_num_histogram_buckets"]) == ("StatsOptions", 3)
    theirs = Path(__file__).with_name("recorded") / "stats_options.json"
    options_of_TFDV = tfdv.StatsOptions.from_json(theirs.read_text())
    assert json.loads(options_of_TFDV.to_json()) == json.loads(theirs.read_text())
    back = tfdv.StatsOptions.from_json(options.to_json())
    assert (back.schema, back.feature_allowlist) == (options.schema, ["fare"])
    with pytest.raises(ValueError, match="cannot be sent to another process"):
        tfdv.StatsOptions(slice_functions=[lambda batch: []]).to_json()


def test_frames_have_the_columns_of_TFDV(stats):
    schema = tfdv.infer_schema(stats)
    tfdv.set_domain(schema, "fare", schema_pb2.FloatDomain(min=0))
    features, domains = tfdv.utils.display_util.get_schema_dataframe(schema)
    assert features.loc["'fare'"].to_dict() == {
        "Type": "FLOAT",
        "Presence": "optional",
        "Valency": "single",
        "Domain": "min: 0.000000; max: inf",
    }
    assert domains.loc["'payment'"].to_dict() == {"Values": "'Card', 'Cash'"}
    tfdv.get_domain(schema, "payment").value.remove("Cash")
    rows = tfdv.utils.display_util.get_anomalies_dataframe(tfdv.validate_statistics(stats, schema))
    assert list(rows.columns) == ["Anomaly short description", "Anomaly long description"]
    assert rows.index.tolist() == ["'payment'"]


def test_html_shows_two_data_sets_and_the_features_that_are_chosen(stats):
    html = tfdv.get_statistics_html(
        stats, stats, "TRAIN", "EVAL", allowlist_features=[tfdv.FeaturePath(["fare"])]
    )
    assert "TRAIN: 4 examples" in html
    assert "EVAL: 4 examples" in html
    assert "payment" not in html
    assert "payment" in tfdv.get_statistics_html(stats, denylist_features=["fare"])


def test_transforms_count_on_beam(trips, tmp_path):
    import apache_beam as beam

    path = str(tmp_path / "stats.tfrecord")
    batch = pa.record_batch({"n": pa.array([[1], [2], None])})
    with beam.Pipeline(runner="DirectRunner") as pipeline:
        _ = (
            pipeline
            | beam.Create([batch, batch])
            | tfdv.GenerateStatistics(tfdv.StatsOptions(num_histogram_buckets=2))
            | tfdv.WriteStatisticsToTFRecord(path)
        )
    (dataset,) = tfdv.load_statistics(path).datasets
    assert (dataset.num_examples, dataset.features[0].num_stats.mean) == (6, 1.5)


def test_dictionaries_of_arrays_are_counted_on_beam(tmp_path):
    import apache_beam as beam
    import numpy as np

    path = str(tmp_path / "stats.tfrecord")
    examples = [
        {"n": np.array([1, 2]), "word": np.array([b"a"], dtype=object), "never": None},
        {"n": np.array([3]), "word": None},
        {"n": np.array([4]), "more": np.array([0.5], dtype=np.float32)},
    ]
    with beam.Pipeline(runner="DirectRunner") as pipeline:
        _ = (
            pipeline
            | beam.Create(examples)
            | tfdv.utils.batch_util.BatchExamplesToArrowRecordBatches(desired_batch_size=2)
            | tfdv.GenerateStatistics()
            | tfdv.WriteStatisticsToTFRecord(path)
        )
    data = tfdv.DatasetListView(tfdv.load_statistics(path)).get_default_slice()
    n, word, more = (
        data.get_feature(tfdv.FeaturePath([name])).proto() for name in ("n", "word", "more")
    )
    assert (data.proto().num_examples, n.num_stats.mean) == (3, 2.5)
    assert (word.type, word.string_stats.common_stats.num_missing) == (word.STRING, 2)
    assert (more.type, more.num_stats.common_stats.num_missing) == (more.FLOAT, 2)


def test_the_features_of_a_schema_are_told_apart_by_TFDVs_rules():
    schema = text_format.Parse(
        """
        feature { name: "zip" type: INT int_domain { is_categorical: true } value_count { max: 1 } }
        feature { name: "flag" type: INT bool_domain {} shape { dim { size: 1 } } }
        feature { name: "age" type: INT }
        feature { name: "word" type: BYTES shape { dim { size: 1 } dim { size: 1 } } }
        feature {
          name: "box" type: STRUCT
          struct_domain {
            feature { name: "picture" type: BYTES image_domain {} value_count { max: 1 } }
            feature { name: "grade" type: FLOAT float_domain { is_categorical: true } shape {} }
          }
        }
        """,
        schema_pb2.Schema(),
    )
    util = tfdv.utils.schema_util

    def name(paths):
        return ["/".join(path.steps()) for path in paths]

    assert name(util.get_categorical_numeric_features(schema)) == ["zip", "flag", "box/grade"]
    types = util.get_categorical_numeric_feature_types(schema)
    assert types[tfdv.FeaturePath(["zip"])] == util.schema_pb2.INT
    assert name(util.get_bytes_features(schema)) == ["box/picture"]
    assert sorted(name(util.get_multivalent_features(schema))) == ["age", "box/grade", "word"]


def test_statistics_of_no_examples_are_an_anomaly_in_TFDVs_words():
    empty = statistics_pb2.DatasetFeatureStatisticsList(
        datasets=[statistics_pb2.DatasetFeatureStatistics()]
    )
    found = tfdv.validate_statistics(empty, schema_pb2.Schema())
    assert found == anomalies_pb2.Anomalies(baseline=schema_pb2.Schema(), data_missing=True)
