# SPDX-License-Identifier: Apache-2.0
"""The penguin pipeline as guides have it, with Transform and Pusher, for `../pipeline.py`."""

import os

from absl import app, flags
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "examples", "penguin", "data")
ROOT = flags.DEFINE_string("root", "out/penguin_transform", "Where outputs and records go.")
STEPS = flags.DEFINE_integer("steps", 100, "How many batches to train on.")
KERAS = flags.DEFINE_enum("keras", "2", ["2", "3"], "Which Keras the model is written in.")


def create_pipeline(root, train_steps, keras):
    example_gen = tfx.components.CsvExampleGen(input_base=DATA)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    module_file = os.path.join(HERE, f"module_keras{keras}.py")
    transform = tfx.components.Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=module_file,
    )
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        train_args=tfx.proto.TrainArgs(num_steps=train_steps),
        eval_args=tfx.proto.EvalArgs(num_steps=5),
    )
    filesystem = tfx.proto.PushDestination.Filesystem(base_directory=os.path.join(root, "serving"))
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        push_destination=tfx.proto.PushDestination(filesystem=filesystem),
    )
    return tfx.dsl.Pipeline(
        pipeline_name="penguin",
        pipeline_root=root,
        components=[example_gen, statistics_gen, schema_gen, transform, trainer, pusher],
        enable_cache=True,
    )


def main(_):
    tfx.orchestration.LocalDagRunner().run(create_pipeline(ROOT.value, STEPS.value, KERAS.value))


if __name__ == "__main__":
    app.run(main)
