# SPDX-License-Identifier: Apache-2.0
"""What values look like; that TFDV says the same is tested with its recorded answers."""

import pyarrow as pa
import pytest

from stoker.statistics.compute import compute_statistics
from stoker.statistics.data_schema import infer_schema
from stoker.statistics.feature_statistics import StatisticsOptions


def look_at(values):
    batch = pa.record_batch({"f": pa.array([[value] for value in values])})
    options = StatisticsOptions(enable_semantic_domain_stats=True)
    statistics = compute_statistics([batch], None, options)
    (feature,) = infer_schema(statistics).feature
    (stats,) = statistics.datasets[0].features
    return feature, {custom.name for custom in stats.custom_stats}


@pytest.mark.parametrize(
    ("values", "domain", "said"),
    [
        ([b"the cat sat on the mat"] * 100, "natural_language_domain", ""),
        ([b"2024-01-31"] * 80 + [b"soon"] * 20, "time_domain", "%Y-%m-%d"),
        ([b"2024-01-31 23:59:58"] * 100, "time_domain", "%Y-%m-%d %H:%M:%S"),
        ([1_700_000_000] * 100, "time_domain", ""),
        ([b"\x89PNG\r\n\x1a\n" + bytes(9)] * 100, "image_domain", ""),
    ],
)
def test_four_in_five_of_a_hundred_values_tell_a_domain(values, domain, said):
    feature, customs = look_at(values)
    assert feature.WhichOneof("domain_info") == domain
    assert feature.time_domain.string_format == said
    assert "domain_info" in customs


@pytest.mark.parametrize(
    "values",
    [
        [b"the cat sat on the mat"] * 99,  # too few
        [b"2024-01-31"] * 79 + [b"soon"] * 21,
        [b"\xff"] + [b"the cat sat on the mat"] * 100,  # not text
        [1.5] * 100,
    ],
)
def test_fewer_tell_nothing(values):
    assert look_at(values)[1] == set()
