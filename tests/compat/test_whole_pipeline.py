# SPDX-License-Identifier: Apache-2.0
"""A whole pipeline, run as TFX's users run theirs: only better models are served and asked."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from evaluation import tfma_overlay

from stoker.cli import main
from stoker.data.tfrecord import read_records

pytestmark = [pytest.mark.tf, pytest.mark.slow]

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
EXAMPLE = [str(EXAMPLES / "taxi_blessed" / "pipeline.py"), "--rows=3000", "--trials=2"]
CONDITIONAL = [str(HERE / "conditional_pipeline.py"), f"--examples={EXAMPLES}"]

GOOD = ["--train_steps=60"]
WORSE = ["--train_steps=60", "--learning_rate=0.001"]
BETTER = ["--train_steps=150"]


@dataclass(frozen=True)
class Seen:
    """What can be seen after a run: the record of its steps, and the served versions."""

    root: Path
    steps: dict
    served: list
    printed: str

    def state(self, step):
        return self.steps[step]["state"]

    def output(self, step, key):
        """An artifact as `stoker show` tells it."""
        (reference,) = self.steps[step]["outputs"][key]
        return show(self.root, str(reference["id"]))


def show(root, what):
    with contextlib.redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit):
        main(["show", what, "--json", "--root", str(root)])
    return json.loads(said.getvalue())


def run_pipeline(root, *command, python=sys.executable, **environ):
    done = subprocess.run(
        [python, *command, f"--root={root}"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = {step["node"]: step for step in show(root, "last")["steps"]}
    served = sorted(path.name for path in (root / "serving").glob("[0-9]*"))
    return Seen(root, steps, served, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("taxi_blessed")


@pytest.fixture(scope="module")
def runs(root):
    """A good model, then a worse one, then one that is better than the first."""
    return [run_pipeline(root, *EXAMPLE, *flags) for flags in (GOOD, WORSE, BETTER)]


def blessed(seen):
    return seen.output("Evaluator", "blessing")["properties"]


def model_of(seen):
    return seen.steps["Trainer"]["outputs"]["model"][0]["id"]


def test_a_good_model_is_blessed_and_served_and_asked_about_every_trip(runs, root):
    first, *_ = runs
    assert {step["state"] for step in first.steps.values()} == {"complete"}
    assert len(first.steps) == 13
    assert blessed(first)["blessed"] == 1
    assert first.output("InfraValidator", "blessing")["properties"]["blessed"] == 1
    assert len(first.served) == 1
    predictions = first.output("BulkInferrer", "inference_result")
    (logs,) = Path(predictions["uri"]).glob("prediction_logs-*")
    answers = [log for log in read_records(str(logs)) if b"big_tip" in log]
    trips = (root / "data" / "unlabelled" / "trips.csv").read_text().splitlines()[1:]
    assert len(answers) == len(trips) == 150


def test_a_worse_model_is_neither_served_nor_asked_and_the_record_says_why(runs):
    first, second, _ = runs
    assert second.state("Tuner") == "cached"
    assert blessed(second)["blessed"] == 0
    assert blessed(second)["baseline_model_id"] == model_of(first)
    assert second.served == first.served
    assert second.output("Pusher", "pushed_model")["properties"]["pushed"] == 0
    predictions = second.output("BulkInferrer", "inference_result")
    assert predictions["properties"]["inferred"] == 0
    assert predictions["files"] == []
    assert "The model is not blessed: it is not pushed." in second.printed
    *_, thresholds = second.output("Evaluator", "evaluation")["preview"]
    assert "auc (change) of all examples is -" in json.dumps(thresholds)


def test_a_better_model_is_compared_with_the_one_that_is_served(runs):
    first, second, third = runs
    assert blessed(third)["blessed"] == 1
    assert blessed(third)["baseline_model_id"] == model_of(first) != model_of(second)
    assert third.served[:1] == first.served
    assert len(third.served) == 2
    assert third.output("BulkInferrer", "inference_result")["properties"]["inferred"] == 1


def test_steps_under_a_condition_that_does_not_hold_are_recorded_as_not_run(runs, root):
    *_, third = runs
    worse = run_pipeline(root, *CONDITIONAL, *WORSE)
    assert worse.state("Trainer") == "cached"
    assert blessed(worse)["blessed"] == 0
    assert blessed(worse)["baseline_model_id"] == model_of(third)
    assert worse.state("Pusher") == worse.state("BulkInferrer") == "skipped"
    assert worse.served == third.served
    assert "custom_property('blessed') == 1" in show(root, "Pusher")["error"]


@pytest.fixture(scope="module")
def better(runs, root):
    """The better model, with conditions."""
    return run_pipeline(root, *CONDITIONAL, *BETTER)


@pytest.mark.envs
def test_steps_under_a_condition_that_holds_run(better):
    assert blessed(better)["blessed"] == 1
    assert better.state("Pusher") == better.state("BulkInferrer") == "complete"
    assert len(better.served) == 3


@pytest.mark.envs
@pytest.mark.usefixtures("better")
def test_where_tfma_is_installed_the_same_file_says_the_same(root):
    try:
        python = tfma_overlay.python()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"The environment with TFMA cannot be made here: {error}")
    source = str(tfma_overlay.REPOSITORY / "src")
    again = run_pipeline(root, *CONDITIONAL, *BETTER, python=python, PYTHONPATH=source)
    assert again.state("Evaluator") == "cached"  # TFMA's own messages, word for word as ours
    assert again.state("Pusher") == again.state("BulkInferrer") == "cached"
