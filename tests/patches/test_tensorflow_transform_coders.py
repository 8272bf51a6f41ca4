# SPDX-License-Identifier: Apache-2.0
"""What scripts for tensorflow-transform 0.1 to 0.26 read and describe their rows with."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.tf

START = """
import tensorflow as tf
import tensorflow_transform as tft
from tensorflow_transform.tf_metadata import dataset_schema
schema = dataset_schema.from_feature_spec({
    "n": tf.io.FixedLenFeature([], tf.int64),
    "x": tf.io.FixedLenFeature([], tf.float32),
    "text": tf.io.FixedLenFeature([], tf.string),
    "pair": tf.io.FixedLenFeature([2], tf.float32),
    "words": tf.io.VarLenFeature(tf.string),
})
def show(row):
    return {name: getattr(value, "tolist", lambda: value)() for name, value in sorted(row.items())}
names = ["n", "more", "x", "text", "pair", "words"]
csv = tft.coders.CsvCoder(names, schema, ",", "|", ["pair", "words"])
examples = tft.coders.ExampleProtoCoder(schema)
"""
ROW = "{'n': 12, 'pair': [1.0, 2.0], 'text': b'a ,text', 'words': [b'u', b'v'], 'x': 1.5}\n"


def run(line):
    command = [sys.executable, "-c", START + line]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_line_of_csv_becomes_a_row_and_so_does_an_example():
    done = run(
        "row = csv.decode('12,left out,1.5,\"a ,text\",1|2,u|v')\n"
        "print(show(row))\n"
        "print(show(examples.decode(examples.encode(row))))\n"
        "import pickle\n"
        "print(show(pickle.loads(pickle.dumps(csv)).decode(b'1,,.5,t,1|2,')))\n"
        "raw = tft.coders.ExampleProtoCoder(schema, serialized=False)\n"
        "print(show(raw.decode(raw.encode(row))) == show(row))\n"
    )
    least = "{'n': 1, 'pair': [1.0, 2.0], 'text': b't', 'words': [], 'x': 0.5}\n"
    assert done.stdout == ROW + ROW + least + "True\n", done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("csv.decode('12,1.5')", "A line has 2 columns, and CsvCoder was given 6 names: '12,1.5'."),
        ("csv.decode(',,1,t,1|2,')", "The feature 'n' has 0 values, and the schema says 1."),
        ("examples.decode(b'')", "The feature 'n' has 0 values, and the schema says 1."),
        ("csv.decode('x,,1,t,1|2,')", "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_line_that_the_schema_does_not_allow_is_told(line, said):
    assert said in run(line).stderr.splitlines()[-1]


def test_the_first_schemas_are_made_and_read():
    done = run(
        "columns = {\n"
        "    'a': dataset_schema.ColumnSchema(\n"
        "        tf.float32, [], dataset_schema.FixedColumnRepresentation()),\n"
        "    'b': dataset_schema.ColumnSchema(\n"
        "        tf.string, [None], dataset_schema.ListColumnRepresentation()),\n"
        "}\n"
        "for _, spec in sorted(dataset_schema.Schema(columns).as_feature_spec().items()):\n"
        "    print(spec)\n"
    )
    fixed, several = done.stdout.splitlines()
    assert fixed == "FixedLenFeature(shape=[], dtype=tf.float32, default_value=None)"
    assert several == "VarLenFeature(dtype=tf.string)"


def test_a_session_that_is_given_what_was_computed_says_what_to_do(tmp_path):
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf, tensorflow_transform\n"
        "x = tf.constant(1)\n"
        "with tf.Session() as session:\n"
        "    session.run(x)\n"
    )
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    told = "stoker: program.py:4: a Session runs a graph, and TensorFlow 2 ran the lines before it"
    assert done.stderr.splitlines()[-1].startswith(told)
