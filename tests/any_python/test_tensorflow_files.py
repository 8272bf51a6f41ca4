# SPDX-License-Identifier: Apache-2.0
"""The files that TensorFlow is asked to read, in a process that is observed."""

import json

import pytest

pytestmark = pytest.mark.tf

RUN = """
import json, os
import numpy as np
import tensorflow as tf
from stoker.any_python.notes import read_journals
from stoker.any_python.observing import observe_step
from stoker.any_python.tensorflow_files import tell_file_reads
for name in {names!r}:
    with open(name, 'w') as file:
        file.write('1,2')
tf.saved_model.save(tf.Module(), 'model')
tf.train.Checkpoint(v=tf.Variable(1.0)).write('weights')
tell_file_reads()
with observe_step(
    observed_dir='journals', given={{}}, import_paths=[], code_files=[os.path.abspath('x.py')],
    pipeline_files=[], not_users=[], moved_to='',
):
    with tf.io.gfile.GFile('gfile') as file:
        file.read()
    tf.io.gfile.exists('asked')
    tf.io.gfile.glob('globbed/*')
    tf.io.gfile.listdir('.')
    tf.io.read_file('read')
    tf.io.read_file(tf.constant('constant'))
    tf.data.TextLineDataset(['lines'])
    tf.data.TFRecordDataset(filenames=['records'])
    tf.data.experimental.CsvDataset(['table'], [1, 1])
    tf.data.Dataset.from_tensor_slices((['sliced'], [1])).map(lambda name, _: tf.io.read_file(name))
    tf.data.Dataset.from_tensor_slices(np.zeros([3]))
    tf.data.Dataset.list_files('listed-*')
    tf.lookup.TextFileInitializer(
        'vocabulary', tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    tf.saved_model.load('model')
    tf.train.load_checkpoint('weights')
    with tf.io.gfile.GFile('written', 'w') as file:
        file.write('x')
    open('written').read()
print(json.dumps(read_journals('journals')))
"""
NAMES = [
    *("gfile", "read", "constant", "lines", "records", "table", "sliced", "listed-1", "vocabulary"),
    "untouched",
]


def test_every_way_to_read_a_file_is_noted(run_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = json.loads(run_python(RUN.format(names=NAMES)).splitlines()[-1])
    read = {name for name in notes if name.startswith("file ")}
    expected = {*NAMES} - {"untouched"} | {"model/saved_model.pb", "model/fingerprint.pb"}
    assert {f"file {tmp_path / name}" for name in expected} <= read
    assert f"file {tmp_path / 'weights.index'}" in read
    assert f"file {tmp_path / 'model' / 'variables' / 'variables.index'}" in read
    assert f"presence of {tmp_path / 'asked'}" in notes
    assert {f"folder {tmp_path}", f"folder {tmp_path / 'globbed'}"} <= notes.keys()
    assert not {f"file {tmp_path / name}" for name in ("untouched", "written")} & read


MAKE = """
import os
import tensorflow as tf
from stoker.any_python.surroundings import keep_ready
from stoker.any_python.tensorflow_files import tell_file_reads
tell_file_reads()
for make in (tf.io.gfile.mkdir, tf.io.gfile.makedirs, lambda to: tf.io.gfile.rename('saved', to)):
    tf.io.gfile.makedirs('saved/1')
    with keep_ready('model'):
        make('model')
        tf.saved_model.save(tf.Module(), 'model')
    print(sorted(os.listdir('model')))
    tf.io.gfile.rmtree('model')
"""


def test_a_folder_that_is_ready_may_be_made_and_moved_to(run_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    *made, moved = run_python(MAKE).splitlines()[-3:]
    assert made == ["['assets', 'fingerprint.pb', 'saved_model.pb', 'variables']"] * 2
    assert moved == "['1', 'assets', 'fingerprint.pb', 'saved_model.pb', 'variables']"
