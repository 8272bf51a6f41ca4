# SPDX-License-Identifier: Apache-2.0
"""What is told about transformed examples."""

import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.transform.examples_statistics import StatsType, find_anomalies, update_options

pytestmark = pytest.mark.tf  # reading examples imports it

SCHEMA = text_format.Parse(
    """
    feature { name: "number" type: FLOAT }
    feature { name: "word" type: INT int_domain { min: -1 max: 9 is_categorical: true } }
    """,
    schema_pb2.Schema(),
)


def anomalies(**columns):
    """The kinds of anomalies by feature."""
    table = pa.table({name: [[one] for one in values] for name, values in columns.items()})
    found = find_anomalies(table, SCHEMA).anomaly_info
    kind = anomalies_pb2.AnomalyInfo.Type.Name
    return {name: [kind(one.type) for one in info.reason] for name, info in found.items()}


def test_examples_as_the_schema_says_have_no_anomaly():
    assert anomalies(number=[1.5, -2.0], word=[-1, 9]) == {}


def test_numbers_outside_their_domain_are_anomalies():
    assert anomalies(number=[1.5, 2.5], word=[-2, 10]) == {
        "word": ["INT_TYPE_SMALL_INT", "INT_TYPE_BIG_INT"]
    }


def test_what_is_not_a_number_is_an_anomaly():
    assert anomalies(number=[1.5, float("nan")], word=[0, 1]) == {"number": ["FLOAT_TYPE_HAS_NAN"]}


def test_a_feature_that_no_example_has_is_an_anomaly():
    assert anomalies(word=[0, 1]) == {"number": ["SCHEMA_MISSING_COLUMN"]}


def test_the_users_function_changes_the_options_of_one_kind():
    def updater(stats_type, stats_options):
        if stats_type == StatsType.POST_TRANSFORM:
            stats_options.num_top_values = 3
        return stats_options

    options = [update_options(updater, kind, SCHEMA) for kind in StatsType]
    assert [one.num_top_values for one in options] == [20, 20, 3]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("generators", r"do not have StatsOptions\.generators\. Leave it out"),
        ("num_top_value", "StatsOptions have no field 'num_top_value'"),
    ],
)
def test_an_option_that_is_not_there_is_named(name, words):
    def updater(_, stats_options):
        setattr(stats_options, name, [1])
        return stats_options

    options = update_options(updater, StatsType.PRE_TRANSFORM, SCHEMA)
    with pytest.raises((ValueError, ImportError), match=words):
        options.check()


def test_a_function_that_returns_nothing_is_told_what_to_return():
    with pytest.raises(TypeError, match=r"Options of statistics are tfdv\.StatsOptions"):
        update_options(lambda *_: None, StatsType.PRE_TRANSFORM, SCHEMA)
