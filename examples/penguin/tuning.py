"""The penguin pipeline with a Tuner: hyperparameters are searched for before the model is trained.

python tuning.py --trials 8 --parallel 2
"""

import os

from absl import app, flags
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = flags.DEFINE_string("root", "out/tuned_penguin", "Where outputs and records go.")
STEPS = flags.DEFINE_integer("steps", 300, "How many batches to train the model on.")
TRIALS = flags.DEFINE_integer("trials", 8, "How many sets of hyperparameters to try.")
PARALLEL = flags.DEFINE_integer("parallel", 2, "How many trials run at once.")


def create_pipeline(root: str, steps: int, trials: int, parallel: int) -> tfx.dsl.Pipeline:
    example_gen = tfx.components.CsvExampleGen(input_base=os.path.join(HERE, "data"))
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    both = {
        "module_file": os.path.join(HERE, "tuned_module.py"),
        "examples": example_gen.outputs["examples"],
        "schema": schema_gen.outputs["schema"],
        "eval_args": tfx.proto.EvalArgs(num_steps=5),
    }
    tuner = tfx.components.Tuner(
        train_args=tfx.proto.TrainArgs(num_steps=max(1, steps // 5)),
        tune_args=tfx.proto.TuneArgs(num_parallel_trials=parallel),
        custom_config={"max_trials": trials},
        **both,
    )
    trainer = tfx.components.Trainer(
        hyperparameters=tuner.outputs["best_hyperparameters"],
        train_args=tfx.proto.TrainArgs(num_steps=steps),
        **both,
    )
    return tfx.dsl.Pipeline(
        pipeline_name="tuned_penguin",
        pipeline_root=root,
        components=[example_gen, statistics_gen, schema_gen, tuner, trainer],
        enable_cache=True,
    )


def main(_: list[str]) -> None:
    pipeline = create_pipeline(ROOT.value, STEPS.value, TRIALS.value, PARALLEL.value)
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    app.run(main)
