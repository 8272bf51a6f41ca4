"""The taxi pipeline: trips in, a model that foresees big tips out, transformed alike in both."""

import os

import make_data
from absl import app, flags
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = flags.DEFINE_string("root", "out/taxi", "Where data, outputs and records go.")
ROWS = flags.DEFINE_integer("rows", 15_000, "How many trips to make up, on the first start.")
STEPS = flags.DEFINE_integer("steps", 300, "How many batches to train on.")
KERAS = flags.DEFINE_enum("keras", "3", ["2", "3"], "Which Keras the model is written in.")


def create_pipeline(root, data, keras, train_steps):
    example_gen = tfx.components.CsvExampleGen(input_base=data)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=os.path.join(HERE, "preprocessing.py"),
    )
    trainer = tfx.components.Trainer(
        module_file=os.path.join(HERE, f"module_keras{keras}.py"),
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        train_args=tfx.proto.TrainArgs(num_steps=train_steps),
        eval_args=tfx.proto.EvalArgs(num_steps=20),
    )
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        push_destination=tfx.proto.PushDestination(
            filesystem=tfx.proto.PushDestination.Filesystem(
                base_directory=os.path.join(root, "serving")
            )
        ),
    )
    return tfx.dsl.Pipeline(
        pipeline_name="taxi",
        pipeline_root=root,
        components=[example_gen, statistics_gen, schema_gen, transform, trainer, pusher],
        enable_cache=True,
    )


def main(_):
    data = os.path.join(ROOT.value, "data")
    if not os.path.exists(data):
        make_data.write_trips(os.path.join(data, "trips.csv"), ROWS.value)
    pipeline = create_pipeline(ROOT.value, data, KERAS.value, STEPS.value)
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    app.run(main)
