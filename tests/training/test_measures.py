# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.training.gpu import describe_idle_gpu
from stoker.training.input_wait import InputWait, waiting_share


@pytest.mark.parametrize(
    ("away", "num_elements", "seconds", "share"),
    [
        ([0.25, 0.25], 2, 1.0, 0.5),
        ([9.0, 0.5, 0.5], 2, 1.0, 0.0),  # only the latest two count
        ([0.01] * 100, 200, 4.0, 0.5),  # the latest hundred stand for all
        ([2.0], 1, 1.0, 0.0),  # clocks differ a little: never below nothing
    ],
)
def test_the_time_that_the_step_was_not_away_is_waiting(away, num_elements, seconds, share):
    assert waiting_share(away, num_elements, seconds) == pytest.approx(share)


def test_without_measurements_the_share_is_unknown():
    assert waiting_share([], 10, 1.0) is None
    assert InputWait(iter([1, 2])).share(1, 1.0) is None


def idle(**changes):
    usual = {"has_driver": True, "hidden": False, "gpus": ["GPU:0"], "variable_devices": ["CPU:0"]}
    return describe_idle_gpu(**{**usual, **changes})


def test_a_gpu_that_the_model_does_not_live_on_is_told():
    assert "TensorFlow sees GPU:0, but the model's variables are on the CPU" in idle()


def test_a_gpu_that_tensorflow_cannot_use_is_told_with_what_to_install():
    assert "tensorflow[and-cuda]" in idle(gpus=[])


@pytest.mark.parametrize(
    "changes",
    [
        {"variable_devices": ["CPU:0", "/job:localhost/device:GPU:0"]},
        {"hidden": True},
        {"has_driver": False, "gpus": []},
        {"variable_devices": []},
    ],
)
def test_nothing_is_told_where_the_gpu_works_is_hidden_or_absent(changes):
    assert idle(**changes) is None
