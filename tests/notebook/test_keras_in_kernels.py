# SPDX-License-Identifier: Apache-2.0
"""Which Keras the cells of a notebook have."""

import pytest
from kernels import Kernel

pytestmark = pytest.mark.slow

USE = "import tensorflow as tf; tf.keras.layers.Dense.__module__.partition('.')[0]"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.close()


@pytest.mark.parametrize(
    ("cell", "keras"),
    [
        ("!echo hello\nimport tensorflow_data_validation as tfdv", "tf_keras"),
        ("%matplotlib_of_mine\nimport nothing", "keras"),
        ("from tfx import v1 as tfx\nimport keras", "keras"),
        ("%env TF_USE_LEGACY_KERAS=0\nimport tfx", "keras"),
    ],
)
def test_cells_have_keras_2_after_tfx_unless_they_ask_for_keras_3(kernel, cell, keras):
    kernel.run(cell)
    shown = kernel.run(USE)

    assert shown.value == repr(keras)
    assert ("tf.keras is Keras 2 here" in shown.printed["stderr"]) == (keras == "tf_keras")
