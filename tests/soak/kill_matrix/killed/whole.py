# SPDX-License-Identifier: Apache-2.0
"""`python whole.py SCENARIO ROOT SALT`: from rows to a pushed model.

Every step depends on the salt, so that another one is all work to be done again; what comes out
does not: the weights are those of every other salt.
"""

import os
import sys

import tensorflow_model_analysis as tfma
from tfx import v1 as tfx

from stoker import Workers

HERE = os.path.dirname(os.path.abspath(__file__))


def write_rows(folder: str, salt: str) -> None:
    """The same rows for every salt, but for a column that no model reads."""
    for name, num_rows in (("train", 64), ("eval", 16)):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        path = os.path.join(folder, name, "rows.csv")
        if not os.path.exists(path):
            rows = [f"{n % 7 / 7},{n % 3},{n % 2},{salt}\n" for n in range(num_rows)]
            with open(f"{path}.draft", "w") as file:
                file.write("".join(["amount,kind,label,salt\n", *rows]))
            os.rename(f"{path}.draft", path)


def create_data_steps(data: str, salt: str) -> list:
    """From rows to transformed examples."""
    splits = [
        tfx.proto.Input.Split(name=name, pattern=f"{name}/*.csv") for name in ("train", "eval")
    ]
    example_gen = tfx.components.CsvExampleGen(
        input_base=data, input_config=tfx.proto.Input(splits=splits)
    )
    examples = example_gen.outputs["examples"]
    statistics_gen = tfx.components.StatisticsGen(examples=examples)
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=examples,
        schema=schema_gen.outputs["schema"],
        module_file=os.path.join(HERE, "preprocessing.py"),
        custom_config={"salt": salt},
    )
    return [example_gen, statistics_gen, schema_gen, transform]


def create_training_steps(transform, salt: str, *, workers: Workers | None) -> list:
    """A search, and a training with what it found; several workers train without a search."""
    given = {
        "module_file": os.path.join(HERE, "module_for_workers.py" if workers else "module.py"),
        "examples": transform.outputs["transformed_examples"],
        "transform_graph": transform.outputs["transform_graph"],
        "eval_args": tfx.proto.EvalArgs(num_steps=1),
        "custom_config": {"salt": salt},
    }
    train_args = tfx.proto.TrainArgs(num_steps=24)
    if workers:
        return [tfx.components.Trainer(train_args=train_args, workers=workers, **given)]
    tuner = tfx.components.Tuner(train_args=tfx.proto.TrainArgs(num_steps=2), **given)
    found = tuner.outputs["best_hyperparameters"]
    return [tuner, tfx.components.Trainer(train_args=train_args, hyperparameters=found, **given)]


def create_last_steps(example_gen, trainer, served: str) -> list:
    """Every model that predicts something at all is blessed and pushed."""
    bound = tfma.GenericValueThreshold(lower_bound={"value": 0.0})
    accuracy = tfma.MetricConfig(
        class_name="BinaryAccuracy", threshold=tfma.MetricThreshold(value_threshold=bound)
    )
    evaluator = tfx.components.Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        eval_config=tfma.EvalConfig(
            model_specs=[tfma.ModelSpec(label_key="label")],
            slicing_specs=[tfma.SlicingSpec()],
            metrics_specs=[tfma.MetricsSpec(metrics=[accuracy])],
        ),
    )
    destination = tfx.proto.PushDestination(
        filesystem=tfx.proto.PushDestination.Filesystem(base_directory=served)
    )
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        push_destination=destination,
    )
    return [evaluator, pusher]


def create_pipeline(scenario: str, root: str, salt: str) -> tfx.dsl.Pipeline:
    data = os.path.join(root, "data", salt)
    write_rows(data, salt)
    steps = create_data_steps(data, salt)
    workers = Workers(2) if scenario == "workers" else None
    steps += create_training_steps(steps[-1], salt, workers=workers)
    steps += create_last_steps(steps[0], steps[-1], os.path.join(root, "served"))
    return tfx.dsl.Pipeline(scenario, root, components=steps, enable_cache=True)


if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(create_pipeline(*sys.argv[1:]))
