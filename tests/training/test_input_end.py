# SPDX-License-Identifier: Apache-2.0
"""The input of a `fit` ends, but nobody waits for its end."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import threading
    import tensorflow as tf
    from stoker.training import watch
    from stoker.user_code.fn_args import FnArgs

    ended = threading.Event()

    def generate():
        try:
            while True:
                yield [1.0], [1.0]
        finally:
            ended.set()

    row = tf.TensorSpec([1])
    rows = tf.data.Dataset.from_generator(generate, output_signature=(row, row))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with watch(FnArgs()):
        model.fit(rows.batch(2), steps_per_epoch=5, epochs=2)
    print("fit is back", "after" if ended.is_set() else "before", "the end")
    print("ended", ended.wait(10))
"""


@pytest.mark.tf
@pytest.mark.slow
@pytest.mark.parametrize("keras", [2, 3])
def test_fit_is_back_before_its_input_has_ended(keras):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={
            **os.environ,
            "TF_USE_LEGACY_KERAS": str(int(keras == 2)),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["fit is back before the end", "ended True"]
