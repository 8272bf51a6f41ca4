"""The live line, seen by a person: a whole pipeline on a real terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import textwrap
import time

import pytest

pytestmark = pytest.mark.tf

PIPELINE = """
import sys
from stoker import LocalDagRunner, Pipeline, Trainer
from stoker.artifacts import Examples
from stoker.dsl import as_channel

if __name__ == "__main__":
    data = Examples()
    data.uri, data.splits = sys.argv[1], ["train", "eval"]
    trainer = Trainer(module_file="module.py", examples=as_channel([data]), check=False)
    LocalDagRunner().run(Pipeline("terminal", sys.argv[1], components=[trainer]))
"""
SAVE = """
    os.makedirs(fn_args.serving_model_dir)
    open(os.path.join(fn_args.serving_model_dir, "model"), "w").close()
"""
FIT = """
    data = tf.data.Dataset.from_tensors((tf.ones([8, 4]), tf.ones([8, 1]))).repeat()
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    print("half a line", end="", flush=True)
    model.fit(data.map(slow), steps_per_epoch=60, epochs=2)
"""
SLOW = """
import os, time
import tensorflow as tf

def slow(x, y):
    wait = tf.py_function(lambda: time.sleep(0.02) or 0.0, [], tf.float32)
    with tf.control_dependencies([wait]):
        return tf.identity(x), y

def run_fn(fn_args):
"""
MODULES = {
    "Keras 2": "import tensorflow as tf\nfrom tensorflow import keras\n" + SLOW + FIT + SAVE,
    "Keras 3": "import keras\n" + SLOW + FIT + SAVE,
    "loop": "import stoker\n"
    + SLOW
    + textwrap.indent(
        "for step in range(1, 121):\n"
        "    time.sleep(0.02)\n"
        "    stoker.log_metrics(step, loss=1 / step)\n",
        "    ",
    )
    + SAVE,
}


def on_a_terminal(command, folder):
    """What a command shows on a terminal of 140 columns, as it came."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 140))
    os.set_blocking(master, False)
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(
        command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    seen, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            seen += part
        elif process.poll() is not None:
            break
    os.close(master)
    assert process.wait(30) == 0, seen.decode(errors="replace")
    return seen.decode(errors="replace")


@pytest.mark.parametrize("kind", MODULES)
def test_the_live_line_moves_on_while_it_trains(tmp_path, kind):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "module.py").write_text(MODULES[kind])
    for split in ("train", "eval"):
        (tmp_path / f"Split-{split}").mkdir()
    shown = on_a_terminal([sys.executable, "pipeline.py", str(tmp_path)], tmp_path)
    assert len(set(re.findall(r"\r[^\r\n]*step (\d+)", shown))) >= 5, shown
    assert "loss" in shown
    assert ("waiting for input" in shown and "half a line" in shown) or kind == "loop"
    assert "[1/1] Trainer done" in shown
