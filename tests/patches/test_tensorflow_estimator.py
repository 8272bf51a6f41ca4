# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import sys
from types import ModuleType

import pytest

from stoker.errors import MissingPart
from stoker.patches.tensorflow_estimator import enable_estimators
from stoker.user_code.keras_choice import choose_keras


@pytest.fixture
def tensorflow(monkeypatch):
    """A TensorFlow of some version that has no Estimators."""

    def pretend(version):
        module = ModuleType("tensorflow")
        module.__version__ = version
        monkeypatch.setitem(sys.modules, "tensorflow", module)
        return module

    return pretend


@pytest.mark.parametrize("version", ["2.22.0", "3.0.1", "2.5.0"])
def test_a_tensorflow_that_is_not_known_is_refused_with_those_that_are(tensorflow, version):
    tensorflow(version)
    with pytest.raises(MissingPart, match=rf"TensorFlow 2\.16 to 2\.21, and this is {version}"):
        enable_estimators()


def test_a_tensorflow_that_has_estimators_is_left_as_it_is(tensorflow):
    before = tensorflow("2.15.1")
    before.estimator = "its own"
    enable_estimators()
    assert before.estimator == "its own"


def test_a_missing_package_is_named(tensorflow, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    tensorflow("2.21.0")
    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(MissingPart, match=r"pip install 'stoker\[estimator\]'"):
        enable_estimators()


def test_keras_3_is_refused(tensorflow, monkeypatch):
    tensorflow("2.21.0")
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "0")
    with pytest.raises(ValueError, match=r"Estimators are built on Keras 2"):
        enable_estimators()


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\ntf.estimator.RunConfig()",
        "import tensorflow.compat.v1 as tf\ntf.estimator.RunConfig()",
        "import tensorflow as tf\ntf.compat.v1.estimator.RunConfig()",
        "from tensorflow import estimator",
        "import tensorflow_estimator",
        "import tensorflow as tf\ntf.keras.estimator.model_to_estimator(1)",
        "from tensorflow import keras\nkeras.estimator.model_to_estimator(1)",
        "import neighbour",
    ],
)
def test_code_that_names_estimators_gets_them_and_keras_2(write, text):
    write("neighbour.py", "import tensorflow as tf\nmake = tf.estimator.Estimator")
    needs = choose_keras(write("module.py", text), environ={})
    assert needs.estimators
    assert needs.keras == 2
    assert not any(name.startswith("tensorflow_estimator") for name in needs.preload)


@pytest.mark.parametrize(
    "text",
    ["import tensorflow as tf\ntf.keras.Model", "import keras", "class estimator: pass\nestimator"],
)
def test_other_code_does_not(write, text):
    assert not choose_keras(write("module.py", text), environ={}).estimators


@pytest.mark.tf
def test_estimators_are_everywhere_that_they_were(run_python):
    run_python(
        """
        from stoker.patches.tensorflow_estimator import enable_estimators

        enable_estimators()
        enable_estimators()
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        from tensorflow import estimator
        from tensorflow.estimator import DNNClassifier
        import keras
        import tf_keras

        assert keras is tf_keras
        assert estimator.DNNClassifier is tf.compat.v2.estimator.DNNClassifier is DNNClassifier
        assert tf1.estimator.DNNClassifier is not DNNClassifier
        strategy = tf.distribute.MirroredStrategy()
        config = tf.estimator.RunConfig(train_distribute=strategy)
        assert config.train_distribute is strategy and config.is_chief
        """
    )
