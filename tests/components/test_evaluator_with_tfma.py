# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
from pathlib import Path

import pytest
from evaluated_models import labelled_examples, save_compiled
from evaluation import tfma_overlay

from stoker.data.tfrecord import write_records
from stoker.dsl.proto.example_pb2 import Example

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.envs]

NUM = 200
SCHEMA = """
feature { name: "x" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 2 } } }
feature { name: "label" type: INT presence { min_fraction: 1 } shape { dim { size: 1 } } }
"""


def pipeline_with_tfma(folder):
    """What the Evaluators of a pipeline found, and what they printed, where TFMA is."""
    try:
        python = tfma_overlay.python()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"The environment with TFMA cannot be made here: {error}")
    script = Path(__file__).with_name("evaluate_both_ways.py")
    environ = {**os.environ, "PYTHONPATH": str(tfma_overlay.REPOSITORY / "src")}
    command = [python, str(script), str(folder)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stdout


def test_a_pipeline_gives_the_same_blessing_and_numbers_with_either_engine(tmp_path):
    save_compiled(tmp_path / "model" / "Format-Serving", [1.5, -2.0])
    save_compiled(tmp_path / "baseline" / "Format-Serving", [0.1, 1.0])
    write_records(str(tmp_path / "examples" / "Split-eval" / "data.gz"), labelled_examples(NUM))
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema.pbtxt").write_text(SCHEMA)

    found, told = pipeline_with_tfma(tmp_path)

    ours, theirs, custom = (found[name] for name in ("ours", "theirs", "custom"))
    assert "Evaluator runs on Stoker's own engine" in told
    assert "Evaluator runs on TFMA, on Beam's in-memory runner, because engine='tfma'" in told
    assert ours["metrics"] == pytest.approx(theirs["metrics"], abs=1e-6)
    brought = {key.split()[2] for key in ours["metrics"] if key.startswith("all examples")}
    assert brought >= {"accuracy", "area", "precision", "mae", "loss", "auc", "calibration"}
    for part in ("blessed", "ok", "failures", "files"):
        assert ours[part] == theirs[part]
    assert ours["blessed"] == 0
    assert sorted(name for _, name in ours["failures"]) == ["auc", "calibration"]  # in slices

    assert "loads '' with ['add_metrics_callbacks']" in told
    assert "adapts ['label', 'x']" in told
    (turned,) = custom["metrics"].values()
    labels = [label_of(record) for record in labelled_examples(NUM)]
    assert turned == pytest.approx(1 - sum(labels) / NUM)


def label_of(record):
    return Example.FromString(record).features.feature["label"].int64_list.value[0]
