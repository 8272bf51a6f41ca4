"""The penguin pipeline: a CSV file in, a model that tells three species apart out."""

import os

from absl import app, flags
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = flags.DEFINE_string("root", "out/penguin", "Where outputs and records go.")
STEPS = flags.DEFINE_integer("steps", 300, "How many batches to train on.")


def create_pipeline(root: str, train_steps: int) -> tfx.dsl.Pipeline:
    example_gen = tfx.components.CsvExampleGen(input_base=os.path.join(HERE, "data"))
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainer = tfx.components.Trainer(
        module_file=os.path.join(HERE, "module.py"),
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        train_args=tfx.proto.TrainArgs(num_steps=train_steps),
        eval_args=tfx.proto.EvalArgs(num_steps=5),
    )
    return tfx.dsl.Pipeline(
        pipeline_name="penguin",
        pipeline_root=root,
        components=[example_gen, statistics_gen, schema_gen, trainer],
        enable_cache=True,
    )


def main(_: list[str]) -> None:
    tfx.orchestration.LocalDagRunner().run(create_pipeline(ROOT.value, STEPS.value))


if __name__ == "__main__":
    app.run(main)
