# SPDX-License-Identifier: Apache-2.0
"""Configurations of an Evaluator, and the step in this process."""

import os

from stoker.components.evaluator import Executor


def config(*metrics, slices=({},), **model_spec):
    return {
        "model_specs": [{"label_key": "label", **model_spec}],
        "slicing_specs": list(slices),
        "metrics_specs": [{"metrics": list(metrics)}],
    }


def at_least(bound):
    return {"value_threshold": {"lower_bound": bound}}


def evaluate(tmp_path, step, **inputs):
    """The step in this process: the evaluation and the blessing."""
    outputs = {key: [channel.type()] for key, channel in step.outputs.items()}
    for key, (artifact,) in outputs.items():
        artifact.uri = str(tmp_path / key)
        os.makedirs(artifact.uri)
    given = {key: channel.get() for key, channel in inputs.items()}
    Executor().Do(given, outputs, step.exec_properties)
    return outputs["evaluation"][0], outputs["blessing"][0]
