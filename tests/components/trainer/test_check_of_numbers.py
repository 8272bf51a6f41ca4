# SPDX-License-Identifier: Apache-2.0
"""No model that holds or answers NaN passes the model check unseen."""

import numpy as np
import pytest

from stoker.any_python.launcher_link import set_sink
from stoker.any_python.layout import ROWS_FILE
from stoker.artifacts import Model
from stoker.components.trainer.before_publishing import ModelCheck
from stoker.errors import ModelRejected
from stoker.training.fit_data import save_rows

pytestmark = pytest.mark.tf

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def check(tmp_path):
    """Checks a model beside no examples at all; its note, and what is told to the user.

    `rows` are what a `fit` was given.
    """

    def run(rows=None, **properties):
        model, told = Model(), []
        model.uri = str(tmp_path)
        context = ModelCheck.Context(tmp_dir=str(tmp_path / "tmp"))
        if rows is not None:
            save_rows(f"{context.get_tmp_path()}/{ROWS_FILE}", rows)
        set_sink(lambda record: told.append(record["text"]) if "text" in record else None)
        try:
            ModelCheck(context).Do({"examples": []}, {"model": [model]}, properties)
        finally:
            set_sink(None)
        return model.get_string_custom_property("model_check"), told

    return run


@pytest.fixture
def save(tmp_path):
    """Saves signatures of functions of one number per row, `x`, beside some variables."""
    import tensorflow as tf

    def save_one(variables=(), **functions):
        module = tf.Module()
        module.kept = dict(variables)
        spec = tf.TensorSpec([None, 1], tf.float32, name="x")

        def sign(function):
            return tf.function(lambda x: {"y": function(x)}, [spec], autograph=False)

        signatures = {name: sign(function) for name, function in functions.items()}
        module.functions = signatures
        tf.saved_model.save(module, str(tmp_path / "Format-Serving"), signatures=signatures)

    return save_one


@pytest.mark.parametrize(
    ("value", "dtype"), [(NAN, "float32"), (INF, "bfloat16"), (-INF, "float64")]
)
def test_a_trained_variable_that_is_not_finite_is_named(check, save, value, dtype):
    import tensorflow as tf

    weights = tf.Variable(tf.constant([[1.0], [value]], dtype), name="weights")
    others = {"step": tf.Variable(3), "word": tf.Variable("a"), "on": tf.Variable(True)}
    # It answers 1 for every row that it is asked: what is wrong is not seen from outside.
    save(
        {"weights": weights, **others},
        serving_default=lambda x: x * 0.0 + tf.cast(weights[0], tf.float32),
    )

    what = "NaN" if value != value else "infinity"
    with pytest.raises(ModelRejected, match=rf"weights \({what} in 1 of 2 values\)") as raised:
        check()
    assert "Trainer(check=False)" in str(raised.value)


def test_what_no_signature_reads_and_what_was_not_trained_is_told(check, save):
    import tensorflow as tf

    slot = tf.Variable([NAN], name="Adam/v/weights", trainable=False)
    mask = tf.Variable([0.0, -INF], name="mask", trainable=False)
    save({"slot": slot, "mask": mask}, serving_default=lambda x: x + mask[0])

    note, (told,) = check()

    assert "serving_default works on made-up values" in note
    assert "mask (infinity in 1 of 2 values)" in told
    assert "Adam/v/weights (NaN in 1 of 1 values)" in told


def test_a_moving_average_that_is_nan_is_fatal(check, save):
    import tensorflow as tf

    mean = tf.Variable([NAN, 1.0], name="moving_mean", trainable=False)
    save({"mean": mean}, serving_default=lambda x: x + mean[1])

    with pytest.raises(ModelRejected, match="moving_mean"):
        check()


def test_variables_of_tensorflow_1_are_searched(check, tmp_path):
    import tensorflow as tf

    v1 = tf.compat.v1
    builder = v1.saved_model.Builder(str(tmp_path / "Format-Serving"))
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 1])
        split, nan = v1.fixed_size_partitioner(2), v1.constant_initializer(NAN)
        weights = v1.get_variable("weights", [2], initializer=nan, partitioner=split)
        v1.get_variable("unread", [1], initializer=nan)
        outputs = {"y": x * tf.convert_to_tensor(weights)[0]}
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def({"x": x}, outputs)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()

    with pytest.raises(ModelRejected, match=r"not finite: weights \(NaN in 2 of 2 values\)\."):
        check()


def test_a_signature_that_answers_nothing_but_nan_is_rejected_whatever_it_is_called_with(
    check, save
):
    import tensorflow as tf

    save(serving_default=lambda x: tf.math.log(-1.0 - x))

    with pytest.raises(ModelRejected, match=r"no finite number for any made-up values.*'y' is nan"):
        check()


@pytest.mark.parametrize("answer", ["nan in part", "fails"])
def test_made_up_values_that_a_model_cannot_take_prove_nothing_and_are_told(check, save, answer):
    import tensorflow as tf

    functions = {
        "nan in part": lambda x: tf.concat([x, x * NAN], axis=1),
        "fails": lambda x: tf.debugging.check_numerics(x * INF, "only for those who know"),
    }
    save(serving_default=functions[answer])

    _, (told,) = check()

    assert told.startswith(
        "the model check: serving_default loads; it could not be judged by made-up values "
    )


def test_every_signature_is_called_and_the_default_decides(check, save):
    save(serving_default=lambda x: x, other=lambda x: x * NAN, third=lambda x: x + 1.0)

    note, (told,) = check()

    assert note.startswith("serving_default works on made-up values")
    assert note.count("works on made-up values") == 2
    assert "other gives no finite number" in told


def test_where_there_is_no_default_every_signature_decides(check, save):
    save(one=lambda x: x, two=lambda x: x * NAN)

    with pytest.raises(ModelRejected, match="'two'"):
        check()


def test_a_signature_that_does_more_than_answer_is_not_called_and_that_is_told(
    check, save, tmp_path
):
    import tensorflow as tf

    count = tf.Variable(0.0, trainable=False)
    file = str(tmp_path / "written")

    def write(x):
        tf.io.write_file(file, "called")
        return x

    save(
        {"count": count},
        serving_default=lambda x: x,
        save=write,
        train=lambda x: x + count.assign_add(1.0),
    )

    _, (told,) = check()

    assert "save loads; it was not called: it writes files." in told
    assert "train loads; it was not called: it changes variables." in told
    assert not (tmp_path / "written").exists()


def test_a_model_without_signatures_is_told(check, save):
    save()

    _, (told,) = check()

    assert told == "the model check: The SavedModel loads; it was not called: it has no signatures."


@pytest.mark.parametrize("name", ["x", "0", "anything"])
def test_a_signature_that_no_examples_fit_is_called_with_rows_that_fit_was_given(check, save, name):
    import tensorflow as tf

    # It takes none but the numbers that it was trained on, as a model of codes does.
    save(serving_default=lambda x: tf.debugging.check_numerics(1.0 / tf.maximum(x - 700, 0), ""))

    _, (told,) = check()
    assert "could not be judged by made-up values" in told

    note, told = check({name: np.array([[701], [702]]), "label": np.array([b"a", b"b"], object)})
    assert note.startswith("serving_default works on rows that fit was given, since")
    assert told == []


def test_nothing_but_nan_for_rows_that_fit_was_given_is_rejected(check, save):
    import tensorflow as tf

    save(serving_default=lambda x: tf.where(x > 700.0, NAN, x))

    assert "works on made-up values" in check()[0]
    with pytest.raises(ModelRejected, match="no finite number for rows that fit was given"):
        check({"x": np.array([701.0, 702.0])})
    note, _ = check({"x": np.array([NAN, 702.0])})  # NaN in, NaN out: no one's fault
    assert "works on made-up values" in note


def test_a_check_that_is_required_fails_where_the_model_was_not_seen_to_work(check, save):
    import tensorflow as tf

    save(serving_default=lambda x: tf.debugging.check_numerics(x * INF, "only for those who know"))
    assert len(check()[1]) == 1
    with pytest.raises(ModelRejected, match=r"(?s)not seen to work: serving_default.*check=True"):
        check(check="required")


def test_a_check_that_is_required_asks_nothing_of_signatures_that_do_not_decide(check, save):
    save(serving_default=lambda x: x, other=lambda x: x * NAN)

    _, (told,) = check(check="required")
    assert "other gives no finite number" in told


@pytest.mark.parametrize("is_saved_model", [True, False])
def test_a_check_that_is_required_needs_something_to_call(check, save, tmp_path, is_saved_model):
    if not is_saved_model:
        (tmp_path / "Format-Serving").mkdir()
        (tmp_path / "Format-Serving" / "model.pkl").write_text("no SavedModel")
    else:
        save()
    with pytest.raises(ModelRejected, match="not seen to work"):
        check(check="required")
