"""The taxi pipeline with an Estimator: each run goes on from the model of the one before."""

import os
import sys

import tensorflow_model_analysis as tfma
from absl import app, flags
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
TAXI = os.path.join(os.path.dirname(HERE), "taxi")
sys.path.append(TAXI)  # for the workers too: the module imports features.py from there

import make_data  # noqa: E402

ROOT = flags.DEFINE_string("root", "out/taxi_estimator", "Where data, outputs and records go.")
ROWS = flags.DEFINE_integer("rows", 15_000, "How many trips to make up, on the first start.")
STEPS = flags.DEFINE_integer("steps", 300, "How many batches to train on.")


def create_pipeline(root, data, train_steps):
    example_gen = tfx.components.CsvExampleGen(input_base=data)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        module_file=os.path.join(TAXI, "preprocessing.py"),
    )
    latest_model = tfx.dsl.Resolver(
        strategy_class=tfx.dsl.experimental.LatestArtifactStrategy,
        latest_model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model),
    ).with_id("latest_model")
    trainer = tfx.components.Trainer(
        module_file=os.path.join(HERE, "module.py"),
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema_gen.outputs["schema"],
        base_model=latest_model.outputs["latest_model"],
        train_args=tfx.proto.TrainArgs(num_steps=train_steps),
        eval_args=tfx.proto.EvalArgs(num_steps=20),
    )
    overall = tfma.PerSliceMetricThreshold(
        slicing_specs=[tfma.SlicingSpec()],
        threshold=tfma.MetricThreshold(
            value_threshold=tfma.GenericValueThreshold(lower_bound={"value": 0.7})
        ),
    )
    evaluator = tfx.components.Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        eval_config=tfma.EvalConfig(
            model_specs=[tfma.ModelSpec(signature_name="eval")],
            slicing_specs=[tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=["payment"])],
            metrics_specs=[
                tfma.MetricsSpec(
                    per_slice_thresholds={
                        "auc": tfma.PerSliceMetricThresholds(thresholds=[overall])
                    }
                )
            ],
        ),
    )
    steps = [example_gen, statistics_gen, schema_gen, transform, latest_model, trainer, evaluator]
    return tfx.dsl.Pipeline(
        pipeline_name="taxi_estimator",
        pipeline_root=root,
        components=steps,
        enable_cache=True,
    )


def main(_):
    data = os.path.join(ROOT.value, "data")
    if not os.path.exists(data):
        make_data.write_trips(os.path.join(data, "trips.csv"), ROWS.value)
    pipeline = create_pipeline(ROOT.value, data, STEPS.value)
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    app.run(main)
