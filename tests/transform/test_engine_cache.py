# SPDX-License-Identifier: Apache-2.0
"""The analyzer cache: a span that was analyzed before is not read again, and nothing changes."""

import itertools
import pickle

import pytest
from engine_and_beam import (
    assert_same,
    beam_config,
    beam_pipeline,
    dataset,
    make_batches,
    run_locally,
)

from stoker.errors import BadData
from stoker.transform.passes import Dataset

pytestmark = pytest.mark.tf


def function(inputs):
    import tensorflow_transform as tft

    return {
        "id": inputs["id"],
        "z": tft.scale_to_z_score(inputs["x"]),
        "unit": tft.scale_to_0_1(inputs["v"], elementwise=True),
        "z_key": tft.scale_to_z_score_per_key(inputs["x"], inputs["key"]),
        "bucket": tft.bucketize(inputs["sparse_x"], 4),
        "bucket_key": tft.bucketize_per_key(inputs["x"], inputs["key"], 3),
        "token": tft.compute_and_apply_vocabulary(inputs["words"]),
        "number": tft.compute_and_apply_vocabulary(inputs["sparse_n"], top_k=4),
        "weighted": tft.compute_and_apply_vocabulary(inputs["s"], weights=inputs["weight"]),
        "informative": tft.compute_and_apply_vocabulary(inputs["s"], labels=inputs["label"]),
    }


def unreadable():
    raise AssertionError("this span is in the cache, and is read all the same")


def unread(key):
    return Dataset(key=key, shards=[unreadable])


@pytest.fixture(scope="module")
def spans():
    return {
        f"span-{n}": make_batches(40, seed=n, batch_rows=15, first_id=100 * n) for n in (1, 2, 3)
    }


@pytest.fixture(scope="module")
def cache_of_two(spans, tmp_path_factory):
    """What a run over the first two spans leaves behind."""
    folder = tmp_path_factory.mktemp("first")
    first = [dataset(key, spans[key]) for key in ("span-1", "span-2")]
    run_locally(function, [], folder, spans=first, cache_out=str(folder / "cache"))
    return str(folder / "cache")


def test_one_span_more_reads_only_that_one_and_finds_what_a_full_run_does(
    spans, cache_of_two, tmp_path
):
    everything = list(itertools.chain.from_iterable(spans.values()))
    some = [unread("span-1"), unread("span-2"), dataset("span-3", spans["span-3"])]
    cached = run_locally(
        function,
        everything,
        tmp_path / "cached",
        spans=some,
        cache_in=cache_of_two,
        cache_out=str(tmp_path / "cache"),
    )
    full = run_locally(function, everything, tmp_path / "full")
    assert_same(cached, full)
    again = run_locally(
        function,
        everything,
        tmp_path / "again",
        spans=[unread(key) for key in spans],
        cache_in=str(tmp_path / "cache"),
    )
    assert_same(again, full)


def test_a_function_that_changed_reads_all_spans(spans, cache_of_two, tmp_path):
    import tensorflow_transform as tft

    def other(inputs):
        return {"id": inputs["id"], "z": tft.scale_to_z_score(inputs["x"] * 2)}

    first = [dataset(key, spans[key]) for key in ("span-1", "span-2")]
    both = spans["span-1"] + spans["span-2"]
    cached = run_locally(other, both, tmp_path / "cached", spans=first, cache_in=cache_of_two)
    assert_same(cached, run_locally(other, both, tmp_path / "full"))


@pytest.mark.envs
def test_beam_and_the_local_engine_read_each_others_cache(spans, cache_of_two, tmp_path):
    import apache_beam as beam
    import tensorflow_transform.beam as tft_beam
    from tensorflow_transform.beam import analyzer_cache

    keys = [analyzer_cache.DatasetKey(key) for key in spans]
    third, everything = spans["span-3"], list(itertools.chain.from_iterable(spans.values()))
    with beam_pipeline() as pipeline, tft_beam.Context(str(tmp_path / "tmp")):
        data = {**dict.fromkeys(keys), keys[2]: pipeline | beam.Create(third, reshuffle=False)}
        cache = pipeline | analyzer_cache.ReadAnalysisCacheFromFS(cache_of_two, keys)
        transform_fn, written = (
            data,
            cache,
            beam_config(),
        ) | tft_beam.AnalyzeDatasetWithCache(function, pipeline=pipeline)
        _ = transform_fn | tft_beam.WriteTransformFn(str(tmp_path / "graph"))
        _ = written | analyzer_cache.WriteAnalysisCacheToFS(pipeline, str(tmp_path / "cache"))
    local = run_locally(
        function, [], tmp_path, spans=[unread("span-3")], cache_in=str(tmp_path / "cache")
    )
    assert_same(local, run_locally(function, [], tmp_path / "full", spans=[dataset("a", third)]))
    assert_same(
        (str(tmp_path / "graph"), []),
        run_locally(function, [], tmp_path / "all", spans=[dataset("a", everything)]),
    )


def test_a_manifest_that_would_load_other_things_is_refused(spans, tmp_path):
    folder = tmp_path / "cache" / "span-1"
    folder.mkdir(parents=True)
    (folder / "MANIFEST").write_bytes(pickle.dumps(print))
    with pytest.raises(BadData, match=r"MANIFEST .* asks for builtins\.print, which is not loaded"):
        run_locally(
            function,
            [],
            tmp_path,
            spans=[dataset("span-1", spans["span-1"])],
            cache_in=str(tmp_path / "cache"),
        )
