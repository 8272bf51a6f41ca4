# SPDX-License-Identifier: Apache-2.0
"""A training that has ended is published, whatever became of streams, logs, folders and signals."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.launchers.processes import Processes
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

TRAINED = """
import atexit, logging, os, resource, shutil, signal, sys, tempfile, threading, time
from pathlib import Path

def save(fn_args):
    Path(fn_args.serving_model_dir).mkdir(parents=True, exist_ok=True)
    Path(fn_args.serving_model_dir, "model.txt").write_text("trained")

"""


def make_pipeline(folder, code, **trainer):
    module = folder / "module.py"
    module.write_text(TRAINED + code, encoding="utf-8")
    data = Examples()
    data.uri, data.splits = str(folder / "data"), ["train", "eval"]
    step = Trainer(module_file=str(module), examples=as_channel([data]), **trainer)
    return Pipeline("plumbing", str(folder / "root"), components=[step], enable_cache=False)


def read_published(folder):
    (model,) = Path(folder, "root", "Trainer", "model").glob("*/Format-Serving/model.txt")
    assert model.read_text() == "trained"


STREAMS = {
    "without flush": "class Lost:\n  def write(self, text): pass\n",
    "that fails": (
        "class Lost:\n  def write(self, text): pass\n  def flush(self): raise RuntimeError('no')\n"
    ),
    "that is None": "def Lost(): return None\n",
    "closed": "def Lost():\n  file = open(os.devnull, 'w')\n  file.close()\n  return file\n",
}


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("when", ["while it is loaded", "in run_fn"])
def test_streams_that_the_module_replaces_cost_nothing_but_themselves(tmp_path, stream, when):
    replace = "sys.stdout, sys.stderr = Lost(), Lost()\n"
    code = STREAMS[stream] + (replace if when == "while it is loaded" else "")
    code += "def run_fn(fn_args):\n    save(fn_args)\n"
    code += "" if when == "while it is loaded" else f"    {replace}"

    LocalDagRunner().run(make_pipeline(tmp_path, code))

    read_published(tmp_path)


ENDINGS = {
    "closes the descriptors": "    os.closerange(0, 3)\n",
    "leaves a logging handler that fails": (
        "    class Broken(logging.Handler):\n"
        "        def flush(self): raise AttributeError('no stream')\n"
        "    logging.getLogger().addHandler(Broken())\n"
        "    globals()['kept'] = logging.getLogger().handlers\n"
    ),
    "leaves a thread": "    threading.Thread(target=time.sleep, args=(600,)).start()\n",
    "leaves a handler that fails": "    atexit.register(lambda: 1 / 0)\n",
    "calls sys.exit()": "    sys.exit()\n",
    "calls sys.exit(0)": "    sys.exit(0)\n",
    "is in a folder that is gone": (
        "    gone = tempfile.mkdtemp()\n    os.chdir(gone)\n    shutil.rmtree(gone)\n"
    ),
    "has handlers of its own": "    signal.signal(signal.SIGTERM, lambda *_: None)\n",
    "prints half a character": "    os.write(1, 'é'.encode()[:1])\n",
}


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_module_that_is_done_may_end_as_it_likes(tmp_path, ending):
    code = f"def run_fn(fn_args):\n    save(fn_args)\n{ENDINGS[ending]}"

    LocalDagRunner().run(make_pipeline(tmp_path, code))

    read_published(tmp_path)


def test_an_exit_code_that_is_not_zero_is_a_failure(tmp_path):
    code = "def run_fn(fn_args):\n    save(fn_args)\n    sys.exit(3)\n"

    with pytest.raises(StepFailed, match="SystemExit: 3"):
        LocalDagRunner().run(make_pipeline(tmp_path, code))


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_plumbing import LocalDagRunner, make_pipeline
{before}
LocalDagRunner().run(make_pipeline(Path({folder!r}), {code!r}))
"""
TALKATIVE = """
def run_fn(fn_args):
    for line in range(2000):
        print("a line that is long enough for a pipe to be full before all is said", line)
    print("naïve ━", file=sys.stderr)
    save(fn_args)
"""


def write_program(folder, *, code=TALKATIVE, before=""):
    program = folder / "program.py"
    tests = str(Path(__file__).parent)
    text = PROGRAM.format(tests=tests, folder=str(folder), code=code, before=before)
    program.write_text(text, encoding="utf-8")
    return program


@pytest.mark.parametrize(
    "redirected",
    [">&-", "<&- >&- 2>&-", "2>&1 | head -n 1", ">/dev/full 2>&1"],
)
def test_a_runner_ends_well_whatever_it_was_started_with(tmp_path, redirected):
    command = f"{sys.executable} -W error {write_program(tmp_path)} {redirected}"

    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60
    )

    read_published(tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "before",
    [
        "sys.stdout = sys.stderr = None",
        "class Lost:\n  def write(self, text): pass\nsys.stdout = sys.stderr = Lost()",
        "import io; sys.stdout = sys.stderr = io.TextIOWrapper(io.BytesIO(), 'ascii')",
    ],
)
def test_a_program_may_have_any_streams(tmp_path, before):
    program = write_program(tmp_path, before=before)

    subprocess.run([sys.executable, program], timeout=60)  # 120 without flush, says Python itself

    read_published(tmp_path)


def test_a_locale_that_cannot_say_a_name_is_no_obstacle(tmp_path):
    code = (
        "import stoker\n"
        "def run_fn(fn_args):\n"
        "    stoker.log_metrics(1, {'Verlust ß\\udcff': 0.5, 'note': 'no number'})\n"
        "    save(fn_args)\n"
    )
    environ = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    done = subprocess.run(
        [sys.executable, write_program(tmp_path, code=code)],
        env=environ,
        capture_output=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    read_published(tmp_path)


def test_a_program_whose_folder_is_removed_ends_well(tmp_path):
    before = "import os, shutil; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"
    program = write_program(tmp_path, before=before)

    subprocess.run([sys.executable, program], cwd=tmp_path, timeout=60, check=True)

    read_published(tmp_path)


@pytest.mark.parametrize("launcher", [Processes, InProcess])
def test_a_log_and_metrics_that_cannot_be_written_are_told_once(tmp_path, launcher, capfd):
    code = (
        "import stoker\n"
        "def run_fn(fn_args):\n"
        "    for name in ('log.txt', 'metrics.jsonl'):\n"
        "        path = os.path.join(fn_args.model_run_dir, name)\n"
        "        if os.path.exists(path): os.unlink(path)\n"
        "    shutil.rmtree(fn_args.model_run_dir)\n"
        "    Path(fn_args.model_run_dir).write_text('in the way')\n"
        "    for step in range(3):\n"
        "        stoker.log_metrics(step, loss=0.5)\n"
        "    os.unlink(fn_args.model_run_dir)\n"
        "    os.mkdir(fn_args.model_run_dir)\n"
        "    save(fn_args)\n"
    )

    LocalDagRunner(launcher()).run(make_pipeline(tmp_path, code))

    read_published(tmp_path)
    assert capfd.readouterr().err.count("not all metrics could be written") == 1


@pytest.mark.slow
def test_an_error_of_50_mb_is_shown_in_part_and_whole_in_the_log(tmp_path, capfd):
    code = "def run_fn(fn_args):\n    raise ValueError('begin ' + 'x' * 50_000_000 + ' end')\n"
    began = time.process_time()

    with pytest.raises(StepFailed) as raised:
        LocalDagRunner().run(make_pipeline(tmp_path, code))

    assert time.process_time() - began < 15  # 90 before
    (log,) = tmp_path.glob("root/Trainer/model_run/*/log.txt")
    assert 50_000_000 < log.stat().st_size < 51_000_000
    assert log.read_text().rstrip().endswith("x end")
    shown = capfd.readouterr().err
    for text in (shown, str(raised.value), read_error(tmp_path)):
        assert len(text) < 100_000
        assert "begin xxx" in text
        assert "xxx end" in text
        assert f"characters, which are in {log}" in text


def read_error(folder):
    with Store(sqlite_metadata_connection_config(folder / "root" / "metadata.db")) as store:
        (execution,) = store.executions(states=(ExecutionState.FAILED,))
    return execution.error
