# SPDX-License-Identifier: Apache-2.0
import sys

import pytest

from stoker.task import ProcessNeeds
from stoker.user_code.keras_choice import choose_keras, users_environ, wrong_keras_hint


@pytest.fixture
def choose(write):
    """What is chosen for a module with the given text."""

    def choose_for(text, *, explicit=None, environ=None, import_paths=()):
        module = write("module.py", text)
        return choose_keras(
            module, explicit=explicit, environ=environ or {}, import_paths=import_paths
        )

    return choose_for


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("import tensorflow as tf\n\ntf.keras.Sequential()", "module.py:3 uses tf.keras"),
        ("import tensorflow as T\nT.keras", "module.py:2 uses T.keras"),
        ("import tensorflow.compat.v2 as tf\ntf.keras", "module.py:2 uses tf.keras"),
        ("import tensorflow as tf\ntf.compat.v1.keras", "module.py:2 uses tf.compat.v1.keras"),
        ("from tensorflow import keras as k", "module.py:1 imports tensorflow.keras"),
        ("import tensorflow.keras.layers", "module.py:1 imports tensorflow.keras"),
        ("from tensorflow.keras.layers import Dense", "module.py:1 imports tensorflow.keras"),
        ("import tf_keras", "module.py:1 imports tf_keras"),
        ("import tensorflow as tf\ntf.estimator.RunConfig()", "module.py:2 uses tf.estimator"),
        ("import tensorflow_estimator", "module.py:1 imports tensorflow_estimator"),
        ("import tensorflow as tf\ntf.compat.v1.layers.dense", "uses tf.compat.v1.layers"),
        ("import keras\nm.save('d', save_format='tf')", "module.py:2 uses save_format="),
        ("import keras\nkeras.layers.DenseFeatures([])", "uses keras.layers.DenseFeatures"),
        ("from keras.layers import DenseFeatures", "imports keras.layers.DenseFeatures"),
        ("import keras\nkeras.optimizers.legacy.Adam()", "uses keras.optimizers.legacy"),
        ("from keras.optimizers import legacy", "imports keras.optimizers.legacy"),
        ("from keras.utils.vis_utils import plot_model", "imports keras.utils.vis_utils"),
        ("from keras.utils import np_utils", "imports keras.utils.np_utils"),
        ("from keras import layers\nlayers.experimental.x", "uses layers.experimental"),
        ("import keras\nkeras.optimizers.Adam(lr=0.1)", "module.py:2 uses Adam(lr=…)"),
        ("import keras\nmodel.fit(x, workers=2)", "module.py:2 uses fit(workers=…)"),
        ("from keras.callbacks import X\nimport tensorflow as tf\ntf.keras", "module.py:3 uses"),
    ],
)
def test_code_for_keras_2_gets_it_and_is_told_why(choose, text, seen):
    needs = choose(text)
    assert (needs.tensorflow, needs.keras) == (True, 2)
    assert seen in needs.reason


@pytest.mark.parametrize(
    "text",
    [
        "import keras",
        "from keras import layers",
        "import tensorflow as tf\nfrom keras.layers import Dense\ntf.data.Dataset",
        "import keras, torch\ntorch.optim.Adam(lr=0.1)",
        "import keras\n'''tf.keras'''",
    ],
)
def test_only_a_bare_keras_means_keras_3(choose, text):
    needs = choose(text)
    assert (needs.tensorflow, needs.keras) == (True, 3)
    assert "imports keras" in needs.reason


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf",
        "import tensorflow_transform as tft",
        "from tfx_bsl.public import tfxio",
    ],
)
def test_tensorflow_without_any_keras_is_keras_2_as_tfx_code_expects(choose, text):
    needs = choose(text)
    assert (needs.tensorflow, needs.keras) == (True, 2)
    assert "names no Keras" in needs.reason


@pytest.mark.parametrize(
    "text",
    [
        "import sklearn",
        "from tfx import v1 as tfx",
        "import torch\ntorch.optim.Adam(lr=0.1)",
        "from tensorflow_metadata.proto.v0 import schema_pb2",
        "from tfx_bsl.coders import example_coder",
        "def run_fn(fn_args): pass",
        "def (:",
    ],
)
def test_code_without_tensorflow_gets_none(choose, text):
    needs = choose(text)
    assert (needs.tensorflow, needs.keras) == (False, None)


def test_a_neighbour_that_uses_tf_keras_decides_for_the_module(choose, write):
    write("layers/custom.py", "import tensorflow as tf\nx = 1\ntf.keras.layers.Layer")
    needs = choose("import keras\nfrom layers import custom")
    assert needs.keras == 2
    assert needs.reason == "layers/custom.py:3 uses tf.keras."


def test_an_explicit_choice_wins_over_everything(choose):
    text = "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\nimport tensorflow as tf\ntf.keras"
    assert choose(text, explicit=3, environ={"TF_USE_LEGACY_KERAS": "1"}).keras == 3
    assert choose("import sklearn", explicit=2).tensorflow


@pytest.mark.parametrize(("value", "keras"), [("1", 2), ("true", 2), ("0", 3), ("False", 3)])
def test_the_users_own_variable_wins_over_what_the_module_uses(choose, value, keras):
    text = "import keras" if keras == 2 else "import tensorflow as tf\ntf.keras"
    needs = choose(text, environ={"TF_USE_LEGACY_KERAS": value})
    assert needs.keras == keras
    assert f"TF_USE_LEGACY_KERAS={value}" in needs.reason


def test_a_module_may_set_the_variable_itself(choose):
    assign = "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '0'\nimport tensorflow as tf\ntf.keras"
    needs = choose(assign)
    assert needs.keras == 3
    assert needs.reason == "module.py:2 sets TF_USE_LEGACY_KERAS=0."
    default = "import os\nos.environ.setdefault('TF_USE_LEGACY_KERAS', '0')\nimport keras"
    assert choose(default, environ={"TF_USE_LEGACY_KERAS": "1"}).keras == 2


def test_the_variable_alone_starts_no_tensorflow(choose):
    assert not choose("import sklearn", environ={"TF_USE_LEGACY_KERAS": "1"}).tensorflow


def test_keras_on_another_backend_is_left_to_the_module(choose):
    text = "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport numpy\nimport keras"
    needs = choose(text)
    assert (needs.tensorflow, needs.keras) == (False, 3)
    assert needs.preload == ("numpy",)
    assert not choose("import keras", environ={"KERAS_BACKEND": "torch"}).tensorflow


def test_tensorflow_is_preloaded_first(choose):
    needs = choose("import sklearn\nimport keras\nimport tensorflow as tf\nimport pyarrow")
    assert needs.preload == ("tensorflow", "sklearn", "pyarrow")


def test_without_a_module_nothing_is_needed():
    assert choose_keras(None, environ={}) == ProcessNeeds(reason="There is no module file.")
    assert choose_keras(None, explicit=3, environ={}).keras == 3


def test_a_keras_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="keras must be 2 or 3, got 4"):
        choose_keras(None, explicit=4, environ={})


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: The `save_format` argument is deprecated in Keras 3. Please remove this",
        "ValueError: Invalid filepath extension for saving. Please add either a `.keras`",
        "ValueError: Argument(s) not recognized: {'lr': 0.1}",
        "ImportError: `keras.optimizers.legacy` is not supported in Keras 3. When using",
        "AttributeError: module 'keras._tf_keras.keras.layers' has no attribute 'DenseFeatures'",
        "AttributeError: module 'keras._tf_keras.keras.layers' has no attribute 'experimental'",
        "AttributeError: `dense` is not available with Keras 3.",
        "ValueError: A KerasTensor cannot be used as input to a TensorFlow function. A KerasTensor",
        "TypeError: TensorFlowTrainer.fit() got an unexpected keyword argument 'workers'",
        "ValueError: The filename must end in `.weights.h5`. Received: filepath=w",
        "ValueError: The filepath provided must end in `.keras` (Keras model format).",
        "AttributeError: 'Adam' object has no attribute 'minimize'",
        "ValueError: File format not supported: filepath=m. Keras 3 only supports V3 `.keras`",
    ],
)
def test_what_keras_3_says_to_code_for_keras_2_names_the_switch(error):
    needs = ProcessNeeds(tensorflow=True, keras=3, reason="module.py:1 imports keras.")
    hint = wrong_keras_hint(f"Traceback …\n{error}", needs)
    assert "Trainer(keras=2)" in hint
    assert "module.py:1 imports keras" in hint
    assert wrong_keras_hint(error, ProcessNeeds(tensorflow=True, keras=2)) == ""


@pytest.mark.parametrize(
    "error",
    [
        "AttributeError: module 'tf_keras' has no attribute 'ops'",
        "AttributeError: module 'tf_keras' has no attribute 'random'",
        "AttributeError: module 'tf_keras.api._v2.keras' has no attribute 'Layer'",
        "ModuleNotFoundError: No module named 'keras.ops'",
        "ImportError: cannot import name 'ops' from 'tf_keras' (__init__.py)",
        "TypeError: Model.export() got an unexpected keyword argument 'format'",
        "TypeError: Model.compute_loss() got an unexpected keyword argument 'training'",
        "TypeError: loss_scale_factor is not a valid argument, kwargs should be empty",
    ],
)
def test_what_keras_2_says_to_code_for_keras_3_names_the_switch(error):
    needs = ProcessNeeds(tensorflow=True, keras=2, reason="module.py:1 uses tf.keras.")
    assert "Trainer(keras=3)" in wrong_keras_hint(error, needs)
    assert wrong_keras_hint(error, ProcessNeeds(tensorflow=True, keras=3)) == ""


@pytest.mark.parametrize(
    "error", ["KeyError: 'label'", "AttributeError: module 'keras' has no attribute 'Dens'"]
)
def test_other_errors_get_no_hint(error):
    for keras in (None, 2, 3):
        assert wrong_keras_hint(error, ProcessNeeds(keras=keras)) == ""


FAIL_FOR_REAL = """
    import sys, tempfile
    from stoker.task import ProcessNeeds
    from stoker.patches.tf_keras import alias_keras, prepare_keras
    from stoker.user_code.keras_choice import wrong_keras_hint

    needs = ProcessNeeds(tensorflow=True, keras=int(sys.argv[1]))
    prepare_keras(needs)
    import tensorflow as tf
    if needs.keras == 2:
        alias_keras()
    import keras
    folder = tempfile.mkdtemp()
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    for attempt in sys.argv[2:]:
        try:
            exec(attempt)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            hint = wrong_keras_hint(text, needs)
            assert f"Trainer(keras={5 - needs.keras})" in hint, text
        else:
            raise AssertionError(f"{attempt} works")
"""


@pytest.mark.tf
def test_the_hints_know_what_keras_3_really_says(run_python):
    run_python(
        FAIL_FOR_REAL,
        3,
        "model.save(folder, save_format='tf')",
        "model.save(folder)",
        "model.save_weights(folder + '/weights')",
        "tf.keras.callbacks.ModelCheckpoint(folder + '/c')",
        "tf.keras.callbacks.ModelCheckpoint(folder + '/c', save_weights_only=True)",
        "tf.keras.models.load_model(folder)",
        "tf.keras.optimizers.Adam(lr=0.1)",
        "tf.keras.optimizers.legacy.Adam()",
        "tf.keras.optimizers.Adam().minimize",
        "tf.keras.layers.DenseFeatures([])",
        "tf.keras.layers.experimental",
        "tf.keras.experimental",
        "tf.keras.estimator",
        "tf.keras.layers.LSTM(2, batch_input_shape=(1, 2, 3))",
        "tf.compat.v1.layers.dense",
        "tf.math.log(tf.keras.Input((2,)))",
        "model.fit([[1.0, 2.0]], [1.0], workers=2)",
        "model.fit_generator",
    )


@pytest.mark.tf
def test_the_hints_know_what_keras_2_really_says(run_python):
    run_python(
        FAIL_FOR_REAL,
        2,
        "keras.ops.mean",
        "import keras.ops",
        "from keras import ops",
        "from keras.random import SeedGenerator",
        "keras.random.normal",
        "keras.config.backend()",
        "tf.keras.Layer",
        "keras.optimizers.Muon",
        "keras.optimizers.Adam(gradient_accumulation_steps=2)",
        "model.export(folder, format='tf_saved_model')",
        "model.compile('sgd', 'mse', auto_scale_loss=True)",
        "model.stateless_call",
    )


def test_a_variable_that_tensorflow_transform_set_is_not_the_users_choice(monkeypatch):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    monkeypatch.delitem(sys.modules, "tensorflow_transform", raising=False)
    assert users_environ()["TF_USE_LEGACY_KERAS"] == "1"
    monkeypatch.setitem(sys.modules, "tensorflow_transform", sys)
    assert "TF_USE_LEGACY_KERAS" not in users_environ()
