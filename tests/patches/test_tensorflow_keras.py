# SPDX-License-Identifier: Apache-2.0
"""Programs that import tfx or its libraries have Keras 2, unless they ask for Keras 3."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.tf

USE = """
import os, tensorflow as tf
print(tf.keras.layers.Dense.__module__.partition('.')[0], end=' ')
from tensorflow.keras.layers import Dense
print(Dense.__module__.partition('.')[0], os.environ.get('TF_USE_LEGACY_KERAS'))
"""
SAID = "tf.keras is Keras 2 here, as with TFX. For Keras 3, set TF_USE_LEGACY_KERAS=0 before"


@pytest.fixture
def run(tmp_path):
    def run_program(source, variable=None, *, as_text=False):
        environ = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
        if variable:
            environ["TF_USE_LEGACY_KERAS"] = variable
        (tmp_path / "program.py").write_text(source)
        command = ["-c", source] if as_text else ["program.py"]
        return subprocess.run(
            [sys.executable, *command],
            **{"cwd": tmp_path, "env": environ, "capture_output": True, "text": True},
            check=False,
        )

    return run_program


@pytest.mark.parametrize(
    "start",
    [
        "import tfx",
        "import tensorflow as tf\nfrom tensorflow import keras\nfrom tfx import v1 as tfx",
        "import tensorflow_data_validation as tfdv",
        "import tensorflow as tf\nimport tensorflow_model_analysis as tfma",
        "import tensorflow_transform as tft\nimport tfx",
    ],
)
def test_a_program_for_tfx_has_keras_2_by_every_name(run, start):
    done = run(start + USE)

    assert done.stdout.startswith("tf_keras tf_keras "), done.stderr
    if "tensorflow_transform" not in start:  # which asks for it itself
        assert done.stdout.endswith("None\n")  # what it starts inherits nothing
        assert done.stderr.count(SAID) == 1


@pytest.mark.parametrize(
    ("start", "variable"),
    [
        ("import tfx, keras", None),
        ("import tfx\nfrom keras.layers import Input", None),
        ("import tfx\ndef f(x):\n  import tensorflow as tf\n  return tf.keras.ops.sum(x)", None),
        ("import tfx", "0"),
        ("import os; os.environ['TF_USE_LEGACY_KERAS'] = '0'\nimport tfx", None),
        ("", None),
    ],
)
def test_one_that_asks_for_keras_3_has_it(run, start, variable):
    done = run(start + USE, variable)

    assert done.stdout.startswith("keras keras "), done.stderr
    assert SAID not in done.stderr


def test_what_python_is_told_to_run_is_left_alone(run):
    assert run("import tfx" + USE, as_text=True).stdout.startswith("keras keras None")


def test_a_program_has_keras_2_as_its_time_knew_it(run):
    done = run(
        "import tfx, tensorflow as tf\n"
        "print(round(float(tf.keras.optimizers.Adam(lr=0.25).learning_rate), 2))\n"
        "print(tf.keras.__version__[:2])"
    )
    assert done.stdout == "0.25\n2.\n", done.stderr


def test_a_model_of_keras_2_is_saved_in_a_program(run):
    done = run(
        "import tfx, tensorflow as tf\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])\n"
        "model.save('out/model', save_format='tf')\n"
        "print(len(tf.keras.models.load_model('out/model').layers))"
    )
    assert done.stdout == "1\n", done.stderr
