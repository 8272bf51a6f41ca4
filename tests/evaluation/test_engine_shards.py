# SPDX-License-Identifier: Apache-2.0
"""What examples add up to in shards is what they add up to together."""

import pickle

import numpy as np
import pytest

from stoker.errors import BadData
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import Batch, draw, make_plan, sum_up
from stoker.evaluation.features import Feature

CONFIG = {
    "model_specs": [{"label_key": "label"}],
    "slicing_specs": [{}, {"feature_keys": ["word"]}],
    "metrics_specs": [
        {"metrics": [{"class_name": one} for one in ("AUC", "BinaryAccuracy", "CalibrationPlot")]}
    ],
}


@pytest.fixture
def plan():
    return make_plan(with_defaults(as_eval_config(CONFIG), has_baseline=False))


def make_batch(seed, words):
    random = np.random.default_rng(seed)
    features = {
        "label": Feature.of_rows(random.integers(2, size=(30, 1))),
        "word": Feature.of_rows(np.array(words, object)[random.integers(len(words), size=(30, 1))]),
    }
    return Batch({"": features}, {"": {"": random.random(30)}}, [b""] * 30)


def test_shards_with_different_slices_make_the_metrics_of_all(plan):
    batches = [make_batch(1, [b"a", b"b"]), make_batch(2, [b"c"]), make_batch(3, [b"b", b"d"])]
    measured, drawn = draw(plan, sum_up(plan, batches))
    total = sum_up(plan, batches[:1])
    for batch in batches[1:]:
        total.merge(pickle.loads(pickle.dumps(sum_up(plan, [batch]))))
    in_shards, also_drawn = draw(plan, total)
    assert list(in_shards) == list(measured)
    assert len(measured) == 5
    for key, values in measured.items():
        assert {one: in_shards[key][one] for one in values} == pytest.approx(values)
    assert {key: len(plots) for key, plots in also_drawn.items()} == {
        key: len(plots) for key, plots in drawn.items()
    }


def test_a_shard_without_examples_adds_nothing(plan):
    some = sum_up(plan, [make_batch(1, [b"a"])])
    expected, _ = draw(plan, some)
    some.merge(sum_up(plan, []))
    found, _ = draw(plan, some)
    assert found == expected


def test_no_examples_at_all_are_told(plan):
    with pytest.raises(BadData, match="no examples to evaluate"):
        draw(plan, sum_up(plan, []))
