# SPDX-License-Identifier: Apache-2.0
"""The pipeline of examples/taxi_blessed as it was written before `tfx.v1`, with conditions.

The steps that the example has too are the same here, so that their outputs are reused.
"""

import os
import sys

import absl
import tensorflow_model_analysis as tfma
from absl import app, flags
from tfx.components import (
    BulkInferrer,
    CsvExampleGen,
    Evaluator,
    Pusher,
    SchemaGen,
    StatisticsGen,
    Trainer,
    Transform,
    Tuner,
)
from tfx.dsl.components.common import resolver
from tfx.dsl.experimental import latest_blessed_model_resolver
from tfx.dsl.experimental.conditionals import conditional
from tfx.orchestration import metadata, pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import bulk_inferrer_pb2, pusher_pb2, trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model, ModelBlessing

flags.DEFINE_string("root", None, "The pipeline root of the example.")
flags.DEFINE_string("examples", None, "The folder of the examples.")
flags.DEFINE_integer("train_steps", None, "As the example has it.")
flags.DEFINE_float("learning_rate", None, "As the example has it.")


def _create_pipeline(
    pipeline_root: str, examples: str, train_steps: int, overrules: dict[str, float]
) -> pipeline.Pipeline:
    data_root = os.path.join(pipeline_root, "data")
    example_gen = CsvExampleGen(input_base=os.path.join(data_root, "labelled"))
    statistics_gen = StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = SchemaGen(
        statistics=statistics_gen.outputs["statistics"], infer_feature_shape=False
    )
    transform = Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=os.path.join(examples, "taxi", "preprocessing.py"),
    )
    module_file = os.path.join(examples, "taxi_blessed", "module.py")
    tuner = Tuner(
        module_file=module_file,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        train_args=trainer_pb2.TrainArgs(num_steps=20),
        eval_args=trainer_pb2.EvalArgs(num_steps=5),
        custom_config={"max_trials": 2},
    )
    trainer = Trainer(
        module_file=module_file,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema_gen.outputs["schema"],
        hyperparameters=tuner.outputs["best_hyperparameters"],
        train_args=trainer_pb2.TrainArgs(num_steps=train_steps),
        eval_args=trainer_pb2.EvalArgs(num_steps=5),
        custom_config={"overrules": overrules},
    )
    model_resolver = resolver.Resolver(
        strategy_class=latest_blessed_model_resolver.LatestBlessedModelResolver,
        model=Channel(type=Model),
        model_blessing=Channel(type=ModelBlessing),
        instance_name="latest_blessed_model_resolver",
    )
    evaluator = Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        baseline_model=model_resolver.outputs["model"],
        eval_config=_create_eval_config(),
    )
    unlabelled = CsvExampleGen(
        input_base=os.path.join(data_root, "unlabelled"), instance_name="unlabelled"
    )
    with conditional.Cond(
        evaluator.outputs["blessing"].future()[0].custom_property("blessed") == 1
    ):
        pusher = Pusher(
            model=trainer.outputs["model"],
            push_destination=pusher_pb2.PushDestination(
                filesystem=pusher_pb2.PushDestination.Filesystem(
                    base_directory=os.path.join(pipeline_root, "serving")
                )
            ),
        )
        bulk_inferrer = BulkInferrer(
            examples=unlabelled.outputs["examples"],
            model=trainer.outputs["model"],
            data_spec=bulk_inferrer_pb2.DataSpec(),
            model_spec=bulk_inferrer_pb2.ModelSpec(),
        )
    return pipeline.Pipeline(
        pipeline_name="taxi_blessed",
        pipeline_root=pipeline_root,
        components=[
            *(example_gen, statistics_gen, schema_gen, transform, tuner, trainer),
            *(model_resolver, evaluator, pusher, unlabelled, bulk_inferrer),
        ],
        enable_cache=True,
        metadata_connection_config=metadata.sqlite_metadata_connection_config(
            os.path.join(pipeline_root, "metadata.db")
        ),
        beam_pipeline_args=["--direct_running_mode=multi_processing", "--direct_num_workers=0"],
    )


def _create_eval_config() -> tfma.EvalConfig:
    return tfma.EvalConfig(
        model_specs=[
            tfma.ModelSpec(
                label_key="big_tip_xf", preprocessing_function_names=["transform_features"]
            )
        ],
        slicing_specs=[tfma.SlicingSpec()],
        metrics_specs=[
            tfma.MetricsSpec(
                metrics=[tfma.MetricConfig(class_name="AUC")],
                thresholds={
                    "auc": tfma.config.MetricThreshold(
                        value_threshold=tfma.GenericValueThreshold(lower_bound={"value": 0.6}),
                        change_threshold=tfma.GenericChangeThreshold(
                            direction=tfma.MetricDirection.HIGHER_IS_BETTER,
                            absolute={"value": -1e-10},
                        ),
                    )
                },
            )
        ],
    )


def main(_: list[str]) -> None:
    given = flags.FLAGS
    sys.path.append(os.path.join(given.examples, "taxi"))
    overrules = {"learning_rate": given.learning_rate} if given.learning_rate else {}
    LocalDagRunner().run(
        _create_pipeline(
            pipeline_root=given.root,
            examples=given.examples,
            train_steps=given.train_steps,
            overrules=overrules,
        )
    )


if __name__ == "__main__":
    absl.logging.set_verbosity(absl.logging.INFO)
    app.run(main)
