# SPDX-License-Identifier: Apache-2.0
"""Signatures on tf.Examples become signatures on plain tensors, as large as they can be."""

import numpy as np
import pytest
import tensorflow as tf
from rewritten_models import EXAMPLES, save, save_dense, save_wordy, wordy_rows, write_examples

from stoker.errors import RewriteFailed
from stoker.models.rewriting.conversion import prepare

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def wordy(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("wordy"))
    return save_wordy(folder), [write_examples(folder, wordy_rows())]


def inputs_of(path, examples, **how):
    plain = prepare(path, examples=examples, **how).plain
    return {one.name: (one.dtype, one.shape, one.meaning) for one in plain.inputs}


def answers(conversion):
    """What the signature says to all examples, and what the plain function says."""
    plain, arrays = conversion.plain, conversion.sample.arrays
    found = plain.function(
        **{name: tf.constant(one) for name, one in plain.prepare(arrays).items()}
    )
    return plain.signature(arrays), {name: tensor.numpy() for name, tensor in found.items()}


def test_the_parts_behind_parsing_and_words_take_plain_tensors(wordy):
    assert inputs_of(*wordy) == {
        "colour": (
            "int64",
            [-1, 1],
            "what the model makes of the feature 'colour' with LookupTableFindV2",
        ),
        "size": ("float32", [-1, 1], "the feature 'size'"),
        "weight": ("float32", [-1, 1], "the feature 'weight'; 7.0 where it is missing"),
    }


def test_for_integers_measures_are_taken_in_the_scale_of_the_model(wordy):
    found = inputs_of(*wordy, for_integers=True)

    assert found["size"][2] == "the feature 'size', scaled as the model does it"
    assert found["weight"][2] == "the feature 'weight', scaled as the model does it"
    assert found["colour"][0] == "int64"


@pytest.mark.parametrize("how", [{}, {"for_integers": True}, {"avoid": ["OneHot"]}])
def test_what_is_behind_the_cut_answers_as_the_signature_does(wordy, how):
    path, examples = wordy

    expected, found = answers(prepare(path, examples=examples, **how))

    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-6)


def test_an_op_that_is_avoided_is_left_in_front_of_the_cut(wordy):
    found = inputs_of(*wordy, avoid=["OneHot"])

    assert found["colour"][:2] == ("float32", [-1, 3])
    assert "OneHot" in found["colour"][2]


def test_outputs_that_are_words_are_left_out_and_said_to_be(wordy):
    path, examples = wordy

    plain = prepare(path, examples=examples).plain

    assert (plain.outputs, plain.left_out) == (["scores"], ["label"])


def test_a_signature_on_numbers_is_taken_as_it_is(tmp_path):
    examples = write_examples(str(tmp_path), [{"x": [1.0, 2.0, 3.0]}] * 5)

    conversion = prepare(save_dense(str(tmp_path)), examples=[examples])

    assert not conversion.plain.is_cut
    assert conversion.sample.source == "5 eval examples"
    assert [one.meaning for one in conversion.plain.inputs] == ["as saved"]


def test_without_examples_inputs_are_made_up_and_said_to_be(tmp_path):
    conversion = prepare(save_wordy(str(tmp_path)))

    assert conversion.sample.source == "64 made-up inputs, because no examples were given"
    assert conversion.rows(0, 64)["weight"].shape == (64, 1)


def test_examples_that_a_signature_does_not_take_are_refused(wordy, tmp_path):
    others = write_examples(str(tmp_path), [{"price": [1.0]}])

    with pytest.raises(RewriteFailed, match=r"takes none of the examples.*colour"):
        prepare(wordy[0], examples=[others])


def test_features_of_other_names_than_the_inputs_are_refused(tmp_path):
    others = write_examples(str(tmp_path), [{"price": [1.0]}])

    with pytest.raises(RewriteFailed, match="takes x, and no example"):
        prepare(save_dense(str(tmp_path)), examples=[others])


def test_a_signature_that_only_looks_up_words_is_refused_with_what_to_write(tmp_path):
    spec = {"word": tf.io.FixedLenFeature([], tf.string)}

    def serve(examples):
        return {
            "hash": tf.strings.to_hash_bucket_fast(tf.io.parse_example(examples, spec)["word"], 9)
        }

    path = save(str(tmp_path), serve, EXAMPLES)

    with pytest.raises(RewriteFailed, match=r"nothing left behind StringToHashBucketFast.*second"):
        prepare(path)


def test_a_signature_that_gives_words_only_is_refused(tmp_path):
    path = save(str(tmp_path), lambda examples: {"same": examples}, EXAMPLES)

    with pytest.raises(RewriteFailed, match="gives words only"):
        prepare(path)


def test_an_unknown_signature_is_told_which_there_are(tmp_path):
    with pytest.raises(RewriteFailed, match=r"no signature 'predict'; it has serving_default"):
        prepare(save_dense(str(tmp_path)), signature_key="predict")


def test_what_is_no_saved_model_is_refused(tmp_path):
    with pytest.raises(RewriteFailed, match=r"There is no SavedModel in .*: it is empty"):
        prepare(str(tmp_path))
