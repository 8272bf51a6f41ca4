# SPDX-License-Identifier: Apache-2.0
"""Runs a pipeline whose Evaluators use each engine, where TFMA is; prints what they found.

python evaluate_both_ways.py FOLDER    the folder has model/, baseline/, examples/ and schema/
"""

import json
import sys
from pathlib import Path

import tensorflow_model_analysis as tfma

from stoker.artifacts import Examples, Model, Schema, encode_split_names
from stoker.components.evaluator import Evaluator
from stoker.dsl import Channel, Pipeline
from stoker.evaluation.results import read_metrics, read_validation
from stoker.evaluation.slices import describe_slice
from stoker.runner import LocalDagRunner

MODULE = str(Path(__file__).with_name("custom_evaluation.py"))


def main(folder: Path) -> None:
    given = {
        key: channel(kind, folder / key)
        for key, kind in (("model", Model), ("baseline", Model), ("schema", Schema))
    }
    given["examples"] = channel(Examples, folder / "examples")
    (examples,) = given["examples"].get()
    examples.split_names = encode_split_names(["eval"])
    compared = {
        "examples": given["examples"],
        "model": given["model"],
        "baseline_model": given["baseline"],
    }
    steps = [
        Evaluator(**compared, eval_config=config()).with_id("ours"),
        Evaluator(**compared, eval_config=config(), engine="tfma").with_id("theirs"),
        Evaluator(
            examples=given["examples"],
            model=given["model"],
            schema=given["schema"],
            eval_config=labels_alone(),
            module_file=MODULE,
        ).with_id("custom"),
    ]
    done = LocalDagRunner().run(Pipeline("both", str(folder / "root"), components=steps))
    print(json.dumps({step.id: found(done.outputs[step.id]) for step in steps}))


def channel(kind: type, uri: Path) -> Channel:
    artifact = kind()
    artifact.uri = str(uri)
    return Channel(kind, artifacts=[artifact])


def config() -> object:
    """Metrics that the configuration names, others that the model brings, slices, a baseline."""
    better = tfma.GenericChangeThreshold(
        absolute={"value": 0.1}, direction=tfma.MetricDirection.HIGHER_IS_BETTER
    )
    at_least = tfma.GenericValueThreshold(lower_bound={"value": 0.8})
    above_one = tfma.GenericValueThreshold(lower_bound={"value": 1.2})
    calibration = tfma.MetricConfig(
        class_name="Calibration", threshold=tfma.MetricThreshold(value_threshold=above_one)
    )
    return tfma.EvalConfig(
        model_specs=[tfma.ModelSpec(label_key="label", example_weight_key="weight")],
        slicing_specs=[tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=["color"])],
        metrics_specs=[
            tfma.MetricsSpec(
                metrics=[calibration, tfma.MetricConfig(class_name="AUC")],
                thresholds={
                    "accuracy": tfma.MetricThreshold(change_threshold=better),
                    "auc": tfma.MetricThreshold(value_threshold=at_least),
                },
            )
        ],
    )


def labels_alone() -> object:
    mean = tfma.MetricConfig(class_name="MeanLabel")
    return tfma.EvalConfig(
        model_specs=[tfma.ModelSpec(label_key="label")],
        metrics_specs=[tfma.MetricsSpec(metrics=[mean])],
        options=tfma.Options(include_default_metrics={"value": False}),
    )


def found(outputs: dict) -> dict[str, object]:
    (evaluation,), (blessing,) = outputs["evaluation"], outputs["blessing"]
    verdict = read_validation(evaluation.uri)
    return {
        "blessed": blessing.custom_properties.get("blessed"),
        "files": sorted(path.name.split("-")[0] for path in Path(evaluation.uri).iterdir()),
        "ok": verdict is not None and verdict.validation_ok,
        "failures": sorted(
            [str(one.slice_key), failure.metric_key.name]
            for one in verdict.metric_validations_per_slice
            for failure in one.failures
        ),
        "metrics": {
            f"{describe_slice(key)} {metric.name} {metric.model} {metric.is_diff}": value
            for key, values in read_metrics(evaluation.uri).items()
            for metric, value in values.items()
        },
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
