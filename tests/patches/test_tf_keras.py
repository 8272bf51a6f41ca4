# SPDX-License-Identifier: Apache-2.0
import os
import sys
from types import ModuleType

import pytest

from stoker.patches.tf_keras import prepare_keras
from stoker.task import ProcessNeeds


@pytest.mark.parametrize(("keras", "value"), [(2, "1"), (3, "0")])
def test_the_choice_becomes_tensorflows_variable(monkeypatch, keras, value):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "something")
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    prepare_keras(ProcessNeeds(tensorflow=True, keras=keras))
    assert os.environ["TF_USE_LEGACY_KERAS"] == value


def test_without_keras_the_variable_stays_as_it_is(monkeypatch):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "something")
    prepare_keras(ProcessNeeds())
    assert os.environ["TF_USE_LEGACY_KERAS"] == "something"


def test_choosing_after_tensorflow_was_imported_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    with pytest.raises(RuntimeError, match="TensorFlow is already imported"):
        prepare_keras(ProcessNeeds(tensorflow=True, keras=2))


@pytest.mark.tf
def test_with_keras_2_every_import_of_keras_is_tf_keras_itself(run_python):
    run_python(
        """
        import importlib, sys
        from stoker.task import ProcessNeeds
        from stoker.patches.tf_keras import alias_keras, prepare_keras

        prepare_keras(ProcessNeeds(tensorflow=True, keras=2))
        import tensorflow as tf
        alias_keras()
        alias_keras()
        import keras
        import tf_keras
        from keras import layers
        from keras.callbacks import EarlyStopping

        assert keras is tf_keras
        assert keras.__version__ == tf.keras.__version__
        assert keras.__version__.startswith("2.")
        assert (tf_keras.__name__, tf_keras.__spec__.name) == ("tf_keras", "tf_keras")
        assert layers.Dense is keras.layers.Dense is tf.keras.layers.Dense
        assert EarlyStopping is tf.keras.callbacks.EarlyStopping

        name = "src.utils.kernelized_utils"
        assert f"tf_keras.{name}" not in sys.modules
        module = importlib.import_module(f"keras.{name}")
        assert module is importlib.import_module(f"tf_keras.{name}")
        assert module.__name__ == module.__spec__.name == f"tf_keras.{name}"

        for missing in ("keras.ops", "keras.layers.nothing"):
            try:
                importlib.import_module(missing)
            except ModuleNotFoundError as error:
                assert missing in str(error)
            else:
                raise AssertionError(missing)
        loaded = {m.__name__ for n, m in sys.modules.items() if n.partition(".")[0] == "keras"}
        assert all(name.startswith("tf_keras") for name in loaded), loaded
        """
    )


@pytest.mark.tf
def test_with_keras_2_modules_are_where_older_versions_had_them(run_python):
    run_python(
        """
        from stoker.task import ProcessNeeds
        from stoker.patches.tf_keras import alias_keras, prepare_keras

        prepare_keras(ProcessNeeds(tensorflow=True, keras=2))
        import tensorflow as tf
        alias_keras()
        from keras.utils.vis_utils import plot_model
        from keras.utils import np_utils
        from keras.engine import training
        assert training.Model is tf.keras.Model
        assert np_utils.to_categorical is tf.keras.utils.to_categorical
        """
    )


@pytest.mark.tf
def test_with_keras_3_tf_keras_is_keras_3_and_the_old_one_is_not_loaded(run_python):
    run_python(
        """
        import sys
        from stoker.task import ProcessNeeds
        from stoker.patches.tf_keras import prepare_keras

        prepare_keras(ProcessNeeds(tensorflow=True, keras=3))
        import tensorflow as tf
        import keras
        assert keras.__version__.startswith("3.")
        assert keras.layers.Dense is tf.keras.layers.Dense
        assert "tf_keras" not in sys.modules
        """
    )


@pytest.mark.tf
def test_what_modules_of_2_4_to_2_12_wrote_works_or_says_what_to_do(run_python):
    run_python(
        """
        from stoker.errors import MissingPart
        from stoker.patches.tf_keras import alias_keras, prepare_keras
        from stoker.task import ProcessNeeds

        prepare_keras(ProcessNeeds(tensorflow=True, keras=2))
        import tensorflow as tf
        alias_keras()
        alias_keras()

        # A rate that was given is the rate, and falls as it did.
        assert float(tf.keras.optimizers.Adam(lr=0.5).learning_rate) == 0.5
        sgd = tf.keras.optimizers.SGD(0.5, decay=1.0, momentum=0.9)
        x = tf.Variable(1.0)
        rates = []
        for _ in range(3):
            sgd.apply_gradients([(tf.constant(0.0), x)])
            rates.append(round(float(sgd.learning_rate), 4))
        assert rates == [0.5, 0.25, 0.1667], rates
        assert tf.keras.optimizers.deserialize(
            tf.keras.optimizers.serialize(tf.keras.optimizers.Adam(lr=0.5))
        ).learning_rate == 0.5

        # Names that moved.
        from tensorflow.keras.mixed_precision import experimental as mixed_precision
        import tensorflow.keras.mixed_precision.experimental
        mixed_precision.set_policy("float32")
        assert tf.keras.mixed_precision.experimental.global_policy().name == "float32"
        from keras.layers.core import Dense, Dropout, Flatten
        from keras.layers.recurrent import LSTM
        from keras.layers.normalization import BatchNormalization
        from keras.layers.normalization.batch_normalization import BatchNormalization
        from keras.optimizer_v2.adam import Adam
        from keras.layers.embeddings import Embedding
        from keras.layers.merge import concatenate
        import keras.layers.experimental.preprocessing
        from tensorflow.keras.layers.experimental import preprocessing
        from tensorflow.keras.preprocessing.text import Tokenizer
        from tensorflow.keras.experimental import WideDeepModel
        from tensorflow.keras.optimizers.legacy import SGD
        from tensorflow.keras.optimizers.schedules import ExponentialDecay
        import kerastuner
        from kerastuner.tuners import RandomSearch
        assert LSTM is tf.keras.layers.LSTM and Dense is tf.keras.layers.Dense

        # Names that no version has any more.
        for statement in (
            "from tensorflow.keras.wrappers.scikit_learn import KerasClassifier",
            "from keras.wrappers.scikit_learn import KerasRegressor",
            "tf.keras.wrappers.scikit_learn.KerasClassifier",
            "tf.keras.layers.experimental.preprocessing.CategoryCrossing",
            "tf.keras.experimental.PeepholeLSTMCell",
        ):
            try:
                exec(statement)
            except MissingPart as missing:
                assert "left Keras. " in str(missing)
            else:
                raise AssertionError(statement)
        assert not hasattr(tf.keras.wrappers, "nope")
        """
    )
