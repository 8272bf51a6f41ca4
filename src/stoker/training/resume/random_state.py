# SPDX-License-Identifier: Apache-2.0
"""The state of every source of random numbers that is not a model's own variable."""

import random
import sys
from typing import Any

import numpy as np


def read_random_state() -> dict[str, Any]:
    """The state of Python's, NumPy's, TensorFlow's and Keras's generators, as plain values."""
    states: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=True),
    }
    states |= {name: one.getstate() for name, one in _python_generators().items()}
    if (generator := _tensorflow_generator()) is not None:
        states["tensorflow"] = generator.state.numpy()
    return states


def set_random_state(states: dict[str, Any]) -> None:
    """Set all of them to what was read."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    for name, generator in _python_generators().items():
        if name in states:
            generator.setstate(states[name])
    generator = _tensorflow_generator()
    if generator is not None and "tensorflow" in states:
        generator.state.assign(states["tensorflow"])


def _python_generators() -> dict[str, random.Random]:
    """What draws the seeds of ops run one by one, and those of Keras 2's layers."""
    from tensorflow.python.eager import context

    found = {"op seeds": getattr(context.context(), "_rng", None)}
    if backend := sys.modules.get("tf_keras.src.backend"):
        found["keras seeds"] = getattr(backend._SEED_GENERATOR, "generator", None)
    return {name: one for name, one in found.items() if one is not None}


def _tensorflow_generator() -> Any:
    """TensorFlow's global generator, if somebody has used it."""
    from tensorflow.python.ops import stateful_random_ops

    return stateful_random_ops.global_generator
