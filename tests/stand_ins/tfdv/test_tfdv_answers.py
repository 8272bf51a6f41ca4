# SPDX-License-Identifier: Apache-2.0
"""What the stand-in says of eleven data sets is what TFDV 1.16.1 said, which is recorded.

Equal are counts, moments, words, schemas, kinds of anomalies and distances between words. Of many
numbers TFDV knows the quantiles to 1% (its epsilon), and makes its histograms of them; ours are
exact. So a bucket may differ by 1% of all values, its edges by 2% of the range, and a divergence
that is measured on histograms by 0.02.
"""

import json
import math
from pathlib import Path

import pytest
import tfdv_env
from tfdv_data import ALL_SETS, write_data

RECORDED = Path(__file__).parent / "recorded"
EPSILON = 0.01
DIVERGENCE = 0.02


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


def read_recorded(name, folder=RECORDED):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ALL_SETS)
def test_the_stand_in_answers_as_TFDV(name, data):
    from tfdv_answers import answers_of

    ours = json.loads(json.dumps(answers_of(name, data)))
    assert list(find_differences(read_recorded(name), ours)) == []


@pytest.mark.envs
@pytest.mark.slow
@pytest.mark.skipif(tfdv_env.interpreter() is None, reason="TFDV 1.16 needs Python 3.10")
def test_what_is_recorded_is_what_TFDV_answers(data, tmp_path):
    tfdv_env.ask(data, tmp_path)
    for name in ALL_SETS:
        assert list(find_differences(read_recorded(name), read_recorded(name, tmp_path))) == []


def find_differences(theirs, ours, path=()):
    """Where two answers are not equal, and what is there."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if "histograms" in path and "buckets" in theirs:
            yield from find_other_buckets(theirs.pop("buckets"), ours.pop("buckets"), path)
        for key in sorted(theirs.keys() | ours.keys()):
            one, other = theirs.get(key), ours.get(key)
            if key == "value" and theirs.get("type") == "JENSEN_SHANNON_DIVERGENCE":
                if not math.isclose(one, other, abs_tol=DIVERGENCE):
                    yield (*path, key), one, other
            else:
                yield from find_differences(one, other, (*path, key))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        if path[-1] in _WITHOUT_ORDER:
            theirs, ours = sorted(theirs, key=_find_name), sorted(ours, key=_find_name)
        for place, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from find_differences(one, other, (*path, place))
    elif theirs != ours and not _are_close(theirs, ours):
        yield path, theirs, ours


def find_other_buckets(theirs, ours, path):
    """The buckets of a histogram that are not equal, within TFDV's epsilon."""
    total = sum(bucket.get("sample_count", 0.0) for bucket in theirs)
    edges = [float(one.get(key, 0)) for one in theirs for key in ("low_value", "high_value")]
    finite = [edge for edge in edges if math.isfinite(edge)]
    width = 2 * EPSILON * (max(finite) - min(finite)) if finite else 0.0
    if len(theirs) != len(ours):
        yield path, theirs, ours
    for one, other in zip(theirs, ours, strict=False):
        for key, room in (
            ("low_value", width),
            ("high_value", width),
            ("sample_count", EPSILON * total + 0.5),
        ):
            pair = float(one.get(key, 0)), float(other.get(key, 0))
            if not math.isclose(*pair, abs_tol=room):
                yield (*path, key), *pair


_WITHOUT_ORDER = ("datasets", "features", "feature", "string_domain")
"""Of slices, and of what is in tf.Examples; that CSV files keep their order is tested apart."""


def _find_name(part):
    return part.get("name") or part.get("path", {}).get("step") or ""


def _are_close(theirs, ours):
    """Whether two numbers differ by no more than the order of additions can make them."""
    numbers = isinstance(theirs, float) and isinstance(ours, float)
    return numbers and math.isclose(theirs, ours, rel_tol=1e-6, abs_tol=1e-9)
