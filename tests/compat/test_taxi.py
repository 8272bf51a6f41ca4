# SPDX-License-Identifier: Apache-2.0
"""The taxi example: what is served is transformed as what was trained on, with either Keras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tf

PIPELINE = Path(__file__).parents[2] / "examples" / "taxi" / "pipeline.py"

# As a server would: the model is loaded by itself, and asked about every raw eval example.
SERVE = """
import glob, json, os, sys
import tensorflow as tf
import tensorflow_transform as tft

root, model = sys.argv[1:]


def records(key):
    (folder,) = glob.glob(os.path.join(root, key, '*', 'Split-eval'))
    return list(tf.data.TFRecordDataset(glob.glob(folder + '/*'), 'GZIP').as_numpy_iterator())


raw = tf.constant(records('CsvExampleGen/examples'))
(graph,) = glob.glob(os.path.join(root, 'Transform', 'transform_graph', '*'))
spec = tft.TFTransformOutput(graph).transformed_feature_spec()
trained = tf.io.parse_example(records('Transform/transformed_examples'), spec)
label = trained.pop('big_tip_xf')
signatures = tf.saved_model.load(model).signatures
served = signatures['transform_features'](raw)
answers = signatures['serving_default'](raw)['big_tip']
right = tf.equal(answers > .5, label == 1)
print(json.dumps({
    'rows': int(raw.shape[0]),
    'features': sorted(trained),
    'different': [n for n in trained if not bool(tf.reduce_all(served[n] == trained[n]))],
    'served': sorted(served),
    'accuracy': float(tf.reduce_mean(tf.cast(right, tf.float32))),
}))
"""


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("taxi")


@pytest.mark.parametrize("keras", ["2", "3"])
def test_raw_trips_are_served_as_they_were_trained_on(root, keras):
    flags = ["--root", str(root), "--rows", "4000", "--steps", "200", "--keras", keras]
    shown = run(str(PIPELINE), *flags).stderr
    assert f"Trainer: Keras {keras}, because module_keras{keras}.py" in shown
    pushed = max((root / "serving").glob("[0-9]*"), key=lambda folder: int(folder.name))
    seen = json.loads(run("-c", SERVE, str(root), str(pushed)).stdout.splitlines()[-1])
    assert seen["rows"] > 1000
    assert seen["served"] == seen["features"]
    assert seen["different"] == []
    assert seen["accuracy"] > 0.9
