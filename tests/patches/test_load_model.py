# SPDX-License-Identifier: Apache-2.0
import json
import zipfile

import pytest

from stoker.patches.load_model import find_keras_of


def test_a_model_tells_which_keras_has_saved_it(tmp_path):
    (tmp_path / "saved_model").mkdir()
    (tmp_path / "saved_model" / "keras_metadata.pb").touch()
    for version in ("2.21.0", "3.15.1"):
        with zipfile.ZipFile(tmp_path / f"{version}.keras", "w") as archive:
            archive.writestr("metadata.json", json.dumps({"keras_version": version}))
    (tmp_path / "weights.h5").touch()

    assert find_keras_of(tmp_path / "saved_model") == 2
    assert find_keras_of(str(tmp_path / "2.21.0.keras")) == 2
    assert find_keras_of(tmp_path / "3.15.1.keras") == 3
    assert find_keras_of(tmp_path / "weights.h5") is None
    assert find_keras_of(tmp_path / "nothing") is None
    assert find_keras_of(tmp_path) is None


@pytest.mark.tf
def test_each_keras_loads_the_models_of_the_other(run_python, tmp_path):
    run_python(
        f"""
        import os, sys
        os.chdir({str(tmp_path)!r})
        os.environ["TF_USE_LEGACY_KERAS"] = "0"
        import tensorflow as tf
        load_before = tf.keras.models.load_model
        import tfx
        import keras
        import tf_keras
        from stoker.any_python.launcher_link import set_sink

        for owner in (keras, tf_keras):
            model = owner.Sequential([owner.layers.Dense(1, name="only")])
            model.build((None, 2))
            model.save(f"{{owner.__name__}}.keras")
        model.save("saved_model", save_format="tf")
        model = keras.Sequential([keras.layers.Dense(1)])
        model.build((None, 2))
        model.export("exported")

        def load(path):
            return type(tf.keras.models.load_model(path)).__module__.partition(".")[0]

        assert load("saved_model") == load("tf_keras.keras") == "tf_keras"
        assert load("keras.keras") == "keras"
        assert tf.keras.models.load_model("saved_model").predict(tf.ones((1, 2))).shape == (1, 1)
        loaded = tf_keras.models.load_model("keras.keras")
        assert type(loaded).__module__.startswith("keras.")
        for path, at_work in (("exported", None), ("saved_model", print)):
            set_sink(at_work)  # as in a step
            try:
                tf.keras.models.load_model(path)
            except ValueError as error:
                assert "Keras 3 only supports" in str(error)
            else:
                raise AssertionError(path)
        """
    )


@pytest.mark.parametrize("package", ["tfx", "tensorflow_model_analysis"])
def test_a_notebook_that_imports_one_of_these_loads_either(run_python, package):
    run_python(
        f"""
        import sys
        import {package}

        assert "stoker.stand_ins.provide" in sys.modules
        assert "tensorflow" not in sys.modules
        """
    )
