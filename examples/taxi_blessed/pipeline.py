"""The taxi pipeline from end to end: a model is served only if it is no worse than the last one."""

import os
import sys

import tensorflow_model_analysis as tfma
from absl import app, flags, logging
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
TAXI = os.path.join(os.path.dirname(HERE), "taxi")
sys.path.append(TAXI)  # for the workers too: the module imports features.py from there

import make_data  # noqa: E402

FLAGS = flags.FLAGS
flags.DEFINE_string("root", "out/taxi_blessed", "Where data, outputs and records go.")
flags.DEFINE_integer("rows", 6_000, "How many trips to make up, on the first start.")
flags.DEFINE_integer("trials", 4, "How many sets of hyperparameters to try.")
flags.DEFINE_integer("train_steps", 100, "How many batches to train the model on.")
flags.DEFINE_float("learning_rate", None, "Overrules what the Tuner has found.")


def _create_eval_config():
    """Good enough for everyone who pays, and not worse than the model that is served now."""
    return tfma.EvalConfig(
        options=tfma.Options(include_default_metrics={"value": False}),
        model_specs=[
            tfma.ModelSpec(
                signature_name="serving_default",
                label_key="big_tip_xf",
                preprocessing_function_names=["transform_features"],
            )
        ],
        slicing_specs=[tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=["payment"])],
        metrics_specs=[
            tfma.MetricsSpec(
                metrics=[
                    tfma.MetricConfig(class_name="ExampleCount"),
                    tfma.MetricConfig(
                        class_name="BinaryAccuracy",
                        threshold=tfma.MetricThreshold(
                            value_threshold=tfma.GenericValueThreshold(lower_bound={"value": 0.5})
                        ),
                    ),
                    tfma.MetricConfig(
                        class_name="AUC",
                        per_slice_thresholds=[
                            tfma.PerSliceMetricThreshold(
                                slicing_specs=[tfma.SlicingSpec()],
                                threshold=tfma.MetricThreshold(
                                    value_threshold=tfma.GenericValueThreshold(
                                        lower_bound={"value": 0.6}
                                    ),
                                    change_threshold=tfma.GenericChangeThreshold(
                                        direction=tfma.MetricDirection.HIGHER_IS_BETTER,
                                        absolute={"value": -1e-3},
                                    ),
                                ),
                            )
                        ],
                    ),
                ]
            )
        ],
    )


def _create_pipeline(
    *,
    pipeline_name,
    pipeline_root,
    data_root,
    module_file,
    preprocessing_file,
    serving_model_dir,
    metadata_path,
    trials,
    train_steps,
    overrules,
    beam_pipeline_args,
):
    example_gen = tfx.components.CsvExampleGen(input_base=os.path.join(data_root, "labelled"))
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(
        statistics=statistics_gen.outputs["statistics"], infer_feature_shape=False
    )
    example_validator = tfx.components.ExampleValidator(
        statistics=statistics_gen.outputs["statistics"], schema=schema_gen.outputs["schema"]
    )
    transform = tfx.components.Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=preprocessing_file,
    )
    tuner = tfx.components.Tuner(
        module_file=module_file,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        train_args=tfx.proto.TrainArgs(num_steps=20),
        eval_args=tfx.proto.EvalArgs(num_steps=5),
        custom_config={"max_trials": trials},
    )
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema_gen.outputs["schema"],
        hyperparameters=tuner.outputs["best_hyperparameters"],
        train_args=tfx.proto.TrainArgs(num_steps=train_steps),
        eval_args=tfx.proto.EvalArgs(num_steps=5),
        custom_config={"overrules": overrules},
    )
    model_resolver = tfx.dsl.Resolver(
        strategy_class=tfx.dsl.experimental.LatestBlessedModelStrategy,
        model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model),
        model_blessing=tfx.dsl.Channel(type=tfx.types.standard_artifacts.ModelBlessing),
    ).with_id("latest_blessed_model_resolver")
    evaluator = tfx.components.Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        baseline_model=model_resolver.outputs["model"],
        eval_config=_create_eval_config(),
    )
    infra_validator = tfx.components.InfraValidator(
        model=trainer.outputs["model"],
        examples=example_gen.outputs["examples"],
        serving_spec=tfx.proto.ServingSpec(
            tensorflow_serving=tfx.proto.TensorFlowServing(tags=["latest"]),
            local_docker=tfx.proto.LocalDockerConfig(),
        ),
        request_spec=tfx.proto.RequestSpec(
            tensorflow_serving=tfx.proto.TensorFlowServingRequestSpec(), num_examples=3
        ),
    )
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        infra_blessing=infra_validator.outputs["blessing"],
        push_destination=tfx.proto.PushDestination(
            filesystem=tfx.proto.PushDestination.Filesystem(base_directory=serving_model_dir)
        ),
    )
    unlabelled_example_gen = tfx.components.CsvExampleGen(
        input_base=os.path.join(data_root, "unlabelled"),
        output_config=tfx.proto.Output(
            split_config=tfx.proto.SplitConfig(
                splits=[tfx.proto.SplitConfig.Split(name="unlabelled", hash_buckets=1)]
            )
        ),
    ).with_id("unlabelled_example_gen")
    bulk_inferrer = tfx.components.BulkInferrer(
        examples=unlabelled_example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        data_spec=tfx.proto.DataSpec(),
        model_spec=tfx.proto.ModelSpec(),
    )
    return tfx.dsl.Pipeline(
        pipeline_name=pipeline_name,
        pipeline_root=pipeline_root,
        components=[
            example_gen,
            statistics_gen,
            schema_gen,
            example_validator,
            transform,
            tuner,
            trainer,
            model_resolver,
            evaluator,
            infra_validator,
            pusher,
            unlabelled_example_gen,
            bulk_inferrer,
        ],
        enable_cache=True,
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            metadata_path
        ),
        beam_pipeline_args=beam_pipeline_args,
    )


def main(_):
    logging.set_verbosity(logging.INFO)
    data_root = os.path.join(FLAGS.root, "data")
    if not os.path.exists(data_root):
        make_data.write_trips(os.path.join(data_root, "labelled", "trips.csv"), FLAGS.rows)
        make_data.write_trips(
            os.path.join(data_root, "unlabelled", "trips.csv"), FLAGS.rows // 20, seed=2, tips=False
        )
    tfx.orchestration.LocalDagRunner().run(
        _create_pipeline(
            pipeline_name="taxi_blessed",
            pipeline_root=FLAGS.root,
            data_root=data_root,
            module_file=os.path.join(HERE, "module.py"),
            preprocessing_file=os.path.join(TAXI, "preprocessing.py"),
            serving_model_dir=os.path.join(FLAGS.root, "serving"),
            metadata_path=os.path.join(FLAGS.root, "metadata.db"),
            trials=FLAGS.trials,
            train_steps=FLAGS.train_steps,
            overrules={"learning_rate": FLAGS.learning_rate} if FLAGS.learning_rate else {},
            # 0 means as many as there are cores.
            beam_pipeline_args=["--direct_running_mode=multi_processing", "--direct_num_workers=0"],
        )
    )


if __name__ == "__main__":
    app.run(main)
