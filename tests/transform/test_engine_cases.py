# SPDX-License-Identifier: Apache-2.0
"""The local engine where data or functions are unusual: against Beam, or against itself."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from engine_and_beam import (
    assert_same,
    dataset,
    make_batches,
    make_schema,
    run_locally,
    run_on_beam,
)

pytestmark = pytest.mark.tf


def usual(inputs):
    import tensorflow_transform as tft

    return {
        "id": inputs["id"],
        "z": tft.scale_to_z_score(inputs["x"]),
        "unit": tft.scale_to_0_1(inputs["n"]),
        "bucket": tft.bucketize(inputs["sparse_x"], 4),
        "token": tft.compute_and_apply_vocabulary(inputs["words"], vocab_filename="words"),
        "top": tft.compute_and_apply_vocabulary(inputs["s"], top_k=3, num_oov_buckets=1),
        "informative": tft.compute_and_apply_vocabulary(
            inputs["s"], labels=inputs["label"], top_k=4
        ),
    }


def test_no_rows_at_all_are_analyzed_as_on_beam(beam, tmp_path):
    """Analyzers per key are left out: without a key, Beam's graph cannot be built either."""
    batches = make_batches(20)
    local = run_locally(usual, batches, tmp_path, spans=[dataset("none", [])])
    assert_same(local, beam(usual, batches, analyzed=[]))


def test_graphs_of_tensorflow_1_are_as_on_beam(beam, tmp_path):
    import tensorflow_transform as tft

    def two_phases(inputs):
        outputs = usual(inputs)
        outputs["twice"] = tft.scale_to_0_1(tft.bucketize(inputs["x"], 4))
        return outputs

    batches = make_batches(60)
    local = run_locally(two_phases, batches, tmp_path, compat_v1=True)
    assert_same(local, beam(two_phases, batches, compat_v1=True))


def choices():
    """Small pieces of preprocessing functions, which can be put together at random."""
    import tensorflow as tf
    import tensorflow_transform as tft

    return [
        lambda i: tft.scale_to_z_score(i["ragged_x"]),
        lambda i: tft.scale_to_0_1(i["v"], elementwise=True),
        lambda i: tft.bucketize(i["n"], 5),
        lambda i: tft.bucketize(tft.scale_to_z_score(i["x"]), 3),
        lambda i: tft.bucketize_per_key(i["x"], i["key"], 4),
        lambda i: tft.scale_by_min_max_per_key(i["x"], i["key"], 0.0, 5.0),
        lambda i: tft.compute_and_apply_vocabulary(i["words"], frequency_threshold=4),
        lambda i: tft.compute_and_apply_vocabulary(i["ragged_words"], top_k=4, num_oov_buckets=3),
        lambda i: tft.compute_and_apply_vocabulary(i["sparse_n"], weights=None),
        lambda i: tft.compute_and_apply_vocabulary(i["s"], labels=i["label"]),
        lambda i: tft.compute_and_apply_vocabulary(tft.ngrams(i["words"], (1, 2), "/"), top_k=6),
        lambda i: tft.compute_and_apply_vocabulary(tft.bag_of_words(i["words"], (1, 1), " ")),
        lambda i: tft.hash_strings(i["words"], 7),
        lambda i: tf.matmul(i["v"], tft.pca(i["v"], 3, tf.float32)),
        lambda i: i["x"] - tft.mean(i["sparse_x"]) + tft.max(i["ragged_x"]),
        lambda i: tft.scale_to_gaussian(i["x"]),
        lambda i: tft.tfidf(i["sparse_n"], 10)[1],
        lambda i: tft.estimated_probability_density(i["x"], boundaries=3),
    ]


@pytest.mark.envs
@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("STOKER_RANDOM_CASES", "1"))))
def test_functions_put_together_at_random_are_as_on_beam(seed, tmp_path):
    chosen = random.Random(seed).sample(choices(), 5)

    def function(inputs):
        return {"id": inputs["id"], **{f"f{n}": one(inputs) for n, one in enumerate(chosen)}}

    batches = make_batches(80, seed=seed, batch_rows=30)
    assert_same(run_locally(function, batches, tmp_path), run_on_beam(function, batches, tmp_path))


def calls_python(inputs):
    import tensorflow as tf
    import tensorflow_transform as tft

    doubled = tft.apply_pyfunc(lambda x: 2 * x, tf.float32, True, "double", inputs["x"])
    doubled.set_shape([None])
    return {"id": inputs["id"], "doubled": tft.scale_to_0_1(doubled)}


def num_rows(batches):
    return os.getpid(), sum(batch.num_rows for batch in batches)


IN_TWO_PROCESSES = """
from pathlib import Path
from engine_and_beam import assert_same, dataset, make_batches, make_schema, run_locally, shards_of
from test_engine_cases import calls_python, num_rows, usual
from stoker.dsl.pool import LocalPool
from stoker.transform.local_engine import transform

batches = make_batches(200, batch_rows=23)
spans = [dataset("all", batches, 3)]

def transform_all(graph_dir, pool):
    works = [(read, num_rows) for read in shards_of(batches, 6)]
    return zip(*transform(graph_dir, works, schema=make_schema(), pool=pool))

with LocalPool(2) as pool:
    assert pool.size == 2
    two = run_locally(usual, batches, Path("two"), spans=spans, pool=pool)
    processes, counts = transform_all(two[0], pool)
    assert counts == (46, 46, 39, 23, 23, 23), counts
    assert len(set(processes)) == 2
    python = run_locally(calls_python, batches, Path("python"), pool=pool)
    processes, counts = transform_all(python[0], pool)
    assert len(set(processes)) == 1, "only one process has the function"
    assert LocalPool(2).size == 1, "TensorFlow has run an op: it is too late to fork"
assert_same(two, run_locally(usual, batches, Path("one"), spans=spans))
"""


def test_two_processes_find_what_one_does(tmp_path):
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", IN_TWO_PROCESSES], check=True, cwd=tmp_path, env=environ)


def test_rows_on_which_the_graph_fails_are_an_error_that_says_why(tmp_path):
    import tensorflow as tf

    def function(inputs):
        return {"number": tf.strings.to_number(inputs["s"])}

    with pytest.raises(ValueError, match=r"on a batch of 10 rows: StringToNumberOp could not"):
        run_locally(function, make_batches(10), tmp_path)


def test_raw_schema_is_written_beside_the_graph(tmp_path):
    import tensorflow_transform as tft

    graph_dir, _ = run_locally(lambda i: {"id": i["id"]}, make_batches(3), tmp_path)
    output = tft.TFTransformOutput(graph_dir)
    assert output.raw_metadata.schema == make_schema()
    assert set(output.raw_feature_spec()) == {feature.name for feature in make_schema().feature}
