# SPDX-License-Identifier: Apache-2.0
"""Whether a GPU that could train the model stands idle."""

import os
from collections.abc import Collection, Mapping
from typing import Any

_DRIVER = "/dev/nvidiactl"


def describe_idle_gpu(
    *,
    has_driver: bool,
    hidden: bool,
    gpus: Collection[str],
    variable_devices: Collection[str],
) -> str | None:
    """What to tell the user about a GPU that is not used; None if all is well."""
    if hidden or not variable_devices:
        return None
    if has_driver and not gpus:
        return (
            "This machine has a GPU, but TensorFlow cannot use it, and trains on the CPU. "
            "Install TensorFlow's CUDA libraries: pip install 'tensorflow[and-cuda]'. "
            "Set CUDA_VISIBLE_DEVICES=-1 if the CPU is what you want."
        )
    on_gpu = any("GPU" in device.upper() for device in variable_devices)
    if gpus and not on_gpu:
        return (
            f"TensorFlow sees {', '.join(sorted(gpus))}, but the model's variables are on the CPU. "
            "Build the model outside of tf.device('/CPU:0'), or set CUDA_VISIBLE_DEVICES=-1 if the "
            "CPU is what you want."
        )
    return None


def idle_gpu(model: Any, environ: Mapping[str, str] = os.environ) -> str | None:
    """What to tell the user about the GPU that this Keras model leaves idle, if there is one."""
    import tensorflow as tf

    return describe_idle_gpu(
        has_driver=os.path.exists(_DRIVER),
        hidden=environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"),
        gpus=[gpu.name for gpu in tf.config.list_physical_devices("GPU")],
        variable_devices={_device(one) for one in model.trainable_variables} - {""},
    )


def _device(variable: Any) -> str:
    """Where a variable of Keras 2, or the TensorFlow variable inside one of Keras 3, lives."""
    inside = getattr(variable, "value", variable)
    return str(getattr(variable if callable(inside) else inside, "device", ""))
