# SPDX-License-Identifier: Apache-2.0
"""The local engine against Beam: the same vocabularies, schemas and examples, analyzer by analyzer.

Analyzers are tried in groups, because a run on Beam takes seconds whatever it runs.
"""

import pytest
from engine_and_beam import assert_same, make_batches, run_locally

pytestmark = pytest.mark.tf


def reductions(inputs):
    """Every analyzer of numbers; dense, sparse and ragged inputs take turns."""
    import tensorflow as tf
    import tensorflow_transform as tft

    x, v = inputs["x"], inputs["v"]
    analyzers = (tft.min, tft.max, tft.sum, tft.mean, tft.var, tft.size)
    names = ("sparse_x", "ragged_x", "n", "no_x", "x", "sparse_n")
    return {
        "id": inputs["id"],
        **{
            f"{analyzer.__name__}_{name}": spread(analyzer(inputs[name]), x)
            for analyzer, name in zip(analyzers, names, strict=True)
        },
        **{
            f"{analyzer.__name__}_by_column": spread(analyzer(v, reduce_instance_dims=False), x)
            for analyzer in analyzers
        },
        "histogram": spread(tft.histogram(x, boundaries=5)[0], x),
        "histogram_words": spread(tft.histogram(inputs["s"], categorical=True)[0], x),
        "covariance": spread(tft.covariance(v, tf.float32), x),
        "pca": tf.matmul(v, tft.pca(v, 2, tf.float32)),
    }


def scaling(inputs):
    """Every mapper that scales, and what it needs of the distribution."""
    import tensorflow as tf
    import tensorflow_transform as tft

    x, n, v = inputs["x"], inputs["n"], inputs["v"]
    return {
        "id": inputs["id"],
        "z": tft.scale_to_z_score(x),
        "z_v": tft.scale_to_z_score(v, elementwise=True),
        "z_sparse": tft.scale_to_z_score(inputs["sparse_x"]),
        "z_ragged": tft.scale_to_z_score(inputs["ragged_x"]),
        "unit_v": tft.scale_to_0_1(v, elementwise=True),
        "ranged": tft.scale_by_min_max(n, output_min=-1.0, output_max=2.0),
        "gaussian_v": tft.scale_to_gaussian(v, elementwise=True),
        "tukey": spread(tf.stack([tft.tukey_location(x), tft.tukey_scale(x)]), x),
        "tukey_h": spread(tf.stack(tft.tukey_h_params(x)), x),
        "density": tft.estimated_probability_density(x, boundaries=4),
        "density_words": tft.estimated_probability_density(inputs["s"], categorical=True),
    }


def buckets(inputs):
    """Quantiles, and every mapper that makes buckets."""
    import tensorflow as tf
    import tensorflow_transform as tft

    x, v, weight = inputs["x"], inputs["v"], inputs["weight"]
    quantiles = tft.quantiles(x, 5, 0.01)
    return {
        "id": inputs["id"],
        "weighted": spread(tft.quantiles(x, 3, 0.01, weights=weight), x),
        "by_column": spread(tft.quantiles(v, 4, 0.01, reduce_instance_dims=False), x),
        "buckets_n": tft.bucketize(inputs["n"], 3, epsilon=0.1),
        "buckets_v": tft.bucketize(v, 3, elementwise=True),
        "buckets_weighted": tft.bucketize(x, 4, weights=weight),
        "buckets_sparse": tft.bucketize(inputs["sparse_x"], 3),
        "buckets_ragged": tft.bucketize(inputs["ragged_x"], 3),
        "buckets_missing": tft.bucketize(inputs["no_x"], 3),
        "applied": tft.apply_buckets(x, quantiles),
        "given": tft.apply_buckets(x, tf.constant([[1.0, 4.0]])),
        "interpolated": tft.apply_buckets_with_interpolation(x, quantiles),
        "per_key": tft.bucketize_per_key(x, inputs["key"], 3),
        "per_key_weighted": tft.bucketize_per_key(x, inputs["key"], 3, weights=weight),
    }


def per_key(inputs):
    """Every analyzer and mapper that works per key, in memory and through a file."""
    import tensorflow as tf
    import tensorflow_transform as tft

    x, n, key, v = inputs["x"], inputs["n"], inputs["key"], inputs["v"]
    keys, counts = tft.count_per_key(key)
    tft.count_per_key(inputs["s"], key_vocabulary_filename="counts")
    return {
        "id": inputs["id"],
        "counts": spread(counts, x),
        "keys": tf.tile([keys], [tf.shape(x)[0], 1]),
        "z": tft.scale_to_z_score_per_key(x, key),
        "z_v": tft.scale_to_z_score_per_key(v, key, elementwise=True),
        "z_file": tft.scale_to_z_score_per_key(n, key, key_vocabulary_filename="z_keys"),
        "unit": tft.scale_to_0_1_per_key(x, key),
        "unit_file": tft.scale_to_0_1_per_key(x, key, key_vocabulary_filename=""),
        "ranged": tft.scale_by_min_max_per_key(n, key, output_min=0.0, output_max=9.0),
    }


def counted_vocabularies(inputs):
    """Vocabularies by frequency, and every way to choose, order and write them."""
    import tensorflow_transform as tft

    words = inputs["words"]
    apply = tft.compute_and_apply_vocabulary
    return {
        "id": inputs["id"],
        "all": apply(words, store_frequency=True, vocab_filename="all"),
        "top": apply(inputs["ragged_words"], top_k=3, num_oov_buckets=2),
        "frequent": apply(inputs["s"], frequency_threshold=15, default_value=-7),
        "numbers": apply(inputs["sparse_n"], top_k=4, store_frequency=True),
        "shuffled": apply(words, fingerprint_shuffle=True),
        "reserved": apply(words, reserved_tokens=["green", "<pad>"], top_k=4),
        "missing": apply(inputs["no_words"]),
        "missing_top": apply(inputs["no_words"], top_k=2),
        "compressed": apply(words, file_format="tfrecord_gzip", frequency_threshold=3),
        "covering": apply(words, top_k=2, key_fn=first_letter, coverage_top_k=1),
        "covering_all": apply(words, key_fn=first_letter, coverage_frequency_threshold=2),
    }


def weighted_vocabularies(inputs):
    """Vocabularies by weight, and by what a word tells about the label."""
    import tensorflow_transform as tft

    s, label, weight = inputs["s"], inputs["label"], inputs["weight"]
    unique = tft.deduplicate_tensor_per_row(inputs["words"])
    apply = tft.compute_and_apply_vocabulary
    return {
        "id": inputs["id"],
        "weighted": apply(s, weights=weight, store_frequency=True),
        "weighted_top": apply(s, weights=weight, top_k=4),
        "informative": apply(unique, labels=label, min_diff_from_avg=0.0, store_frequency=True),
        "informative_weighted": apply(s, labels=label, weights=weight),
        "adjusted": apply(unique, labels=label, use_adjusted_mutual_info=True, top_k=5),
    }


def first_letter(word):
    return word[:1]


def words(inputs):
    """Every mapper of words, and what is left of the experimental ones."""
    import tensorflow as tf
    import tensorflow_transform as tft

    words = inputs["words"]
    tokens = tft.compute_and_apply_vocabulary(words, vocab_filename="words")
    file = tft.vocabulary(inputs["s"], vocab_filename="s")
    tft.annotate_asset("the words", "words")
    indices, weights = tft.tfidf(tokens, tft.experimental.get_vocabulary_size_by_name("words") + 1)
    return {
        "id": inputs["id"],
        "tokens": tokens,
        "applied": tft.apply_vocabulary(inputs["s"], file, num_oov_buckets=1),
        "tfidf_indices": indices,
        "tfidf_weights": weights,
        "idf": tft.experimental.idf(tokens, 12),
        "document_frequency": tft.experimental.document_frequency(tokens, 12),
        "ngrams": tft.ngrams(words, (1, 2), separator="_"),
        "bag": tft.bag_of_words(words, (1, 2), separator=" "),
        "count": tft.word_count(words),
        "count_ragged": tft.word_count(inputs["ragged_words"]),
        "hash": tft.hash_strings(inputs["s"], 11),
        "hash_strong": tft.hash_strings(words, 11, key=[1, 2]),
        "unique": tft.deduplicate_tensor_per_row(inputs["sparse_n"]),
        "segments": tft.segment_indices(tf.sort(inputs["label"])),
        "dense": tft.sparse_tensor_to_dense_with_shape(inputs["sparse_x"], [None, 4], 9.0),
        "left": tft.sparse_tensor_left_align(inputs["sparse_n"]),
        "approximate": tft.experimental.compute_and_apply_approximate_vocabulary(words, top_k=3),
        "approximate_reserved": tft.experimental.compute_and_apply_approximate_vocabulary(
            words, top_k=3, reserved_tokens=["<pad>"], store_frequency=True
        ),
    }


def phases(inputs):
    """Analyzers of what other analyzers made, three phases deep, with a table in between."""
    import tensorflow as tf
    import tensorflow_transform as tft

    bucket = tft.bucketize(inputs["x"], 4)
    token = tft.compute_and_apply_vocabulary(tf.strings.as_string(bucket))
    return {
        "id": inputs["id"],
        "token": token,
        "scaled": tft.scale_to_0_1(tf.cast(token, tf.float32) + inputs["x"]),
    }


def shapes(inputs):
    """No analyzer: tensors of every kind, through the schema and into examples."""
    import tensorflow as tf
    import tensorflow_transform as tft

    sparse = inputs["sparse_x"]
    rows = tf.shape(inputs["x"])[0]
    table = tft.make_and_track_object(lambda: three_words(), name="three words")
    return {
        "id": inputs["id"],
        "dense": inputs["v"],
        "matrix": tf.reshape(tf.tile(inputs["v"], [1, 2]), [-1, 2, 3]),
        "sparse": sparse,
        "ragged": inputs["ragged_words"],
        "missing": inputs["no_x"],
        "ragged_twice": tf.RaggedTensor.from_row_splits(
            inputs["ragged_x"], tf.range(tf.cast(rows, tf.int64) + 1)
        ),
        "sparse_3d": tf.sparse.reshape(sparse, [-1, 1, tf.shape(sparse)[1]]),
        "looked_up": table.lookup(inputs["s"]),
    }


def three_words():
    import tensorflow as tf

    words = tf.lookup.KeyValueTensorInitializer(
        ["red", "green", "blue"], tf.range(3, dtype=tf.int64)
    )
    return tf.lookup.StaticHashTable(words, -1)


def spread(value, like):
    """The same numbers in every row."""
    import tensorflow as tf

    flat = tf.reshape(tf.cast(value, tf.float32), [1, -1])
    return tf.tile(flat, [tf.shape(like)[0], 1])


GROUPS = [
    reductions,
    scaling,
    buckets,
    per_key,
    counted_vocabularies,
    weighted_vocabularies,
    words,
    phases,
    shapes,
]


@pytest.mark.parametrize("function", GROUPS)
def test_the_local_engine_agrees_with_beam(function, beam, tmp_path):
    batches = make_batches()
    assert_same(run_locally(function, batches, tmp_path), beam(function, batches))
