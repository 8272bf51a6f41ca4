# SPDX-License-Identifier: Apache-2.0
"""What callbacks of Keras 3 are told after a step."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.utils import python_utils

from stoker.patches.keras import wrap_fit

pytestmark = pytest.mark.tf

LOGS = [
    None,
    {},
    {"loss": 0.5, "accuracy": 0.25},
    {"loss": 0.5, "count": 3},
    {"loss": np.float32(0.1), "accuracy": tf.constant(0.3)},
    {"nested": {"loss": 1.5}, "note": "text"},
]


@pytest.fixture
def watched():
    with wrap_fit(lambda fit, _: fit):
        yield


@pytest.mark.parametrize("logs", LOGS)
def test_logs_are_what_keras_makes_of_them(logs, request):
    plain = python_utils.pythonify_logs(logs)
    request.getfixturevalue("watched")
    found = python_utils.pythonify_logs(logs)
    assert list(found.items()) == list(plain.items())
    assert list(map(type, found.values())) == list(map(type, plain.values()))
    assert found is not logs


def test_numbers_are_not_asked_whether_they_are_tensors(monkeypatch, watched):
    asked = []
    monkeypatch.setattr(keras.src.backend, "is_tensor", asked.append)
    python_utils.pythonify_logs({"loss": 0.5, "accuracy": 0.25})
    assert asked == []
    python_utils.pythonify_logs({"loss": np.float32(0.5)})
    assert len(asked) == 1


def test_afterwards_keras_has_its_own_function_back():
    before = python_utils.pythonify_logs
    with wrap_fit(lambda fit, _: fit):
        assert python_utils.pythonify_logs is not before
    assert python_utils.pythonify_logs is before
