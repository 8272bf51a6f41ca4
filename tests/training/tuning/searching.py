# SPDX-License-Identifier: Apache-2.0
"""A pipeline around a Tuner, or around several, each by the name of its step."""

import json
from pathlib import Path

from stoker.artifacts import Examples
from stoker.components.tuner.component import Tuner
from stoker.dsl import Pipeline, as_channel
from stoker.dsl.proto.tuner_pb2 import TuneArgs
from stoker.runner import LocalDagRunner

BOX = Path(__file__).parent / "box.py"


def examples(folder):
    """An artifact with the usual splits; nothing reads it."""
    data = Examples()
    data.uri, data.splits = str(folder), ["train", "eval"]
    return as_channel([data])


def box(root, *, parallel=1, name="Tuner", **config):
    """A Tuner of the box; its trials log to `<root>/log/<name>`."""
    log = root / "log" / name
    log.mkdir(parents=True, exist_ok=True)
    return Tuner(
        examples=examples(root / "data"),
        module_file=str(BOX),
        tune_args=TuneArgs(num_parallel_trials=parallel),
        custom_config={"log": str(log), **config},
    ).with_id(name)


def run(root, launcher, *tuners, **arguments):
    pipeline = Pipeline("searches", str(root / "root"), components=list(tuners))
    return LocalDagRunner(launcher).run(pipeline, **arguments)


def results(run, name="Tuner"):
    """The rows of `tuner_results.json`."""
    return json.loads(
        Path(run.outputs[name]["tuner_results"][0].uri, "tuner_results.json").read_text()
    )


def logged(root, what, name="Tuner"):
    """The trials that the box has noted, in order."""
    path = root / "log" / name / what
    return path.read_text().split() if path.exists() else []


def slow_box(root, parallel):
    """A search that takes a few seconds."""
    return box(root, parallel=parallel, seconds=0.4, arguments={"max_trials": 7})
