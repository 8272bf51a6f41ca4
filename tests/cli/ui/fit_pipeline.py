# SPDX-License-Identifier: Apache-2.0
"""A pipeline to look at in a browser whose Trainer calls `fit` of Keras, as long as wanted.

WALK_STOP=FILE python fit_pipeline.py ROOT    goes on until there is such a file
"""

import os
import sys
import time
from pathlib import Path

DATA = Path(__file__).parents[3] / "examples" / "penguin" / "data"
STOP = "WALK_STOP"


def run_fn(fn_args):
    """Learn to double a number, at a pace at which one can watch."""
    import numpy as np
    import tensorflow as tf

    numbers = np.random.default_rng(1).random((64, 1)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((numbers, 2 * numbers)).batch(16).repeat()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
    wait = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: _wait())
    model.fit(
        data,
        steps_per_epoch=4,
        epochs=fn_args.train_steps // 4,
        validation_data=data,
        validation_steps=1,
        callbacks=[wait],
        verbose=0,
    )
    model.save(fn_args.serving_model_dir)


def _wait():
    if not os.path.exists(os.environ[STOP]):
        time.sleep(0.25)


def run_fit(root):
    from tfx import v1 as tfx

    example_gen = tfx.components.CsvExampleGen(input_base=str(DATA))
    trainer = tfx.components.Trainer(
        module_file=__file__,
        examples=example_gen.outputs["examples"],
        train_args=tfx.proto.TrainArgs(num_steps=400),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
    )
    pipeline = tfx.dsl.Pipeline("fit", root, components=[example_gen, trainer])
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    run_fit(sys.argv[1])
