# SPDX-License-Identifier: Apache-2.0
"""A pipeline that trains and evaluates without TensorFlow, for commands to look at."""

from stoker.artifacts import ModelEvaluation, ModelRun
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import MetricId, make_plan
from stoker.evaluation.results import write_evaluation
from stoker.evaluation.thresholds import validate
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner
from stoker.training.run_log import RunLog


def write_metrics(folder, loss):
    """What a `fit` of one epoch leaves."""
    log = RunLog(folder, print)
    for step in range(3):
        log.write(split="train", step=step, epoch=1, metrics={"loss": loss + 3 - step})
    means = {"loss": loss, "accuracy": 0.5}
    log.write(split="train", series="train_epochs", step=3, epoch=1, metrics=means)
    log.write(split="validation", step=3, epoch=1, metrics={"loss": loss + 0.25})
    log.close()


@component
def fit(model_run: OutputArtifact[ModelRun], loss: Parameter[float], fails: Parameter[bool]):
    print("fitting")
    write_metrics(model_run.uri, loss)
    if fails:
        raise ValueError("it diverged")


@component
def judge(evaluation: OutputArtifact[ModelEvaluation]):
    asked = {"metrics_specs": [{"metrics": [{"class_name": "AUC"}]}]}
    config = with_defaults(as_eval_config(asked), has_baseline=False)
    values = {(): {MetricId("auc"): 0.75}, (("color", "red"),): {MetricId("auc"): 0.125}}
    verdict = validate(make_plan(config), values, rubber_stamp=False)
    write_evaluation(evaluation.uri, config, values, verdict, data_location="x", models={})


def run_measured(root, loss=0.5, fails=False):
    """One run, cached where nothing changed."""
    steps = [fit(loss=loss, fails=fails), judge()]
    pipeline = Pipeline("measured", str(root), components=steps, enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline)
