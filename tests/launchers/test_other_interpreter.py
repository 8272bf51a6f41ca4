# SPDX-License-Identifier: Apache-2.0
"""A Trainer whose module runs in another interpreter: that of an environment with nothing in it.

It has no Stoker and no TensorFlow, and what crosses the border is the same as with an old one.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import venv
from pathlib import Path

import pytest

import stoker
from stoker.artifacts import Examples, HyperParameters, encode_split_names
from stoker.components.importer import Importer
from stoker.components.trainer.component import Trainer
from stoker.dsl.executor import ExecutorClassSpec
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.errors import StepFailed, StokerError
from stoker.launchers.in_process import InProcess
from stoker.launchers.interpreters.finding import Interpreter, inspect_python
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

WRITES = """
import json, os, sys


def write(fn_args, **said):
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "model.json"), "w") as file:
        json.dump(said, file)
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    venv.create(folder, symlinks=True, with_pip=False)
    return str(folder / "bin" / "python")


@pytest.fixture
def pipeline(tmp_path, other):
    """A pipeline around a module, given as text; `write` from the module beside it."""
    data = tmp_path / "data"
    for split in ("train", "eval"):
        (data / f"Split-{split}").mkdir(parents=True)
    (tmp_path / "neighbour.py").write_text(WRITES)

    def pipeline(text, hyperparameters=None, **given):
        (tmp_path / "module.py").write_text(f"from neighbour import write\n{textwrap.dedent(text)}")
        examples = Importer(
            source_uri=str(data),
            artifact_type=Examples,
            properties={"split_names": encode_split_names(["train", "eval"])},
        ).with_id("examples")
        steps = [examples]
        if hyperparameters:
            (tmp_path / "tuned").mkdir()
            (tmp_path / "tuned" / "best.txt").write_text(hyperparameters)
            tuned = Importer(source_uri=str(tmp_path / "tuned"), artifact_type=HyperParameters)
            steps.append(tuned.with_id("tuned"))
            given["hyperparameters"] = tuned.outputs["result"]
        trainer = Trainer(
            module_file=str(tmp_path / "module.py"),
            examples=examples.outputs["result"],
            train_args=TrainArgs(num_steps=7),
            eval_args=EvalArgs(num_steps=3),
            **{"python": other, **given},
        )
        root = str(tmp_path / "root")
        return Pipeline("other", root, components=[*steps, trainer], enable_cache=True)

    return pipeline


def said_by(run):
    folder = os.path.join(run.outputs["Trainer"]["model"][0].uri, "Format-Serving")
    with open(os.path.join(folder, "model.json")) as file:
        return json.load(file)


def is_running(pid):
    """A process that ended may wait for whoever has adopted it to notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_module_runs_there_and_is_told_everything(pipeline, other, tmp_path, capfd):
    run = LocalDagRunner().run(
        pipeline(
            """
            import sys
            def run_fn(fn_args):
                print("out"); print("err", file=sys.stderr)
                write(fn_args, python=sys.executable, stoker="stoker" in sys.modules,
                      steps=[fn_args.train_steps, fn_args.eval_steps], files=fn_args.train_files,
                      config=fn_args.custom_config, tuned=fn_args.hyperparameters,
                      run=fn_args.model_run_dir, accessor=len(fn_args.data_accessor))
            """,
            hyperparameters='{"rate": 0.5}',
            custom_config={"depth": 2},
        )
    )
    model_run = run.outputs["Trainer"]["model_run"][0].uri
    assert said_by(run) == {
        "python": other,
        "stoker": False,
        "steps": [7, 3],
        "files": [str(tmp_path / "data" / "Split-train" / "*")],
        "config": {"depth": 2},
        "tuned": {"rate": 0.5},
        "run": model_run,
        "accessor": 3,
    }
    shown = capfd.readouterr()
    assert "out\n" in shown.out
    assert f"Trainer: {inspect_python(other)}, at {other}" in shown.err
    with open(os.path.join(model_run, "log.txt")) as log:
        assert {"err", "out"} <= set(log.read().split())


def test_what_is_meant_for_our_own_python_does_not_reach_it(pipeline, monkeypatch):
    ours = {"TF2_BEHAVIOR": "1", "TF_USE_LEGACY_KERAS": "1", "PYTHONPATH": "/ours"}
    for name, value in {**ours, "MINE": "kept"}.items():
        monkeypatch.setenv(name, value)
    text = """
        import os, sys
        def run_fn(fn_args):
            write(fn_args, path=sys.path, variables=sorted(os.environ))
        """
    said = said_by(LocalDagRunner().run(pipeline(text)))
    assert "MINE" in said["variables"]
    assert not set(ours) & set(said["variables"])
    source = Path(stoker.__file__).parents[1]  # with what stands in for TFMA here
    assert not {str(source), str(source / "stand_ins"), "/ours"} & set(said["path"])


def test_the_users_own_traceback_is_shown_and_nothing_is_published(pipeline, tmp_path, capfd):
    with pytest.raises(StepFailed, match="Trainer failed: ZeroDivisionError") as caught:
        LocalDagRunner().run(pipeline("def run_fn(fn_args):\n    1 / 0\n"))
    assert "module.py" in caught.value.traceback.splitlines()[1]
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_worker_there_that_is_killed_fails_the_run_and_says_so(pipeline):
    text = "import os, signal\ndef run_fn(fn_args):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    with pytest.raises(StepFailed, match="The worker process was killed by SIGKILL"):
        LocalDagRunner().run(pipeline(text))


def test_what_a_worker_there_leaves_running_ends_with_it(pipeline):
    text = """
        import subprocess
        def run_fn(fn_args):
            write(fn_args, pid=subprocess.Popen(["sleep", "600"]).pid)
        """
    pid = said_by(LocalDagRunner().run(pipeline(text)))["pid"]
    assert not is_running(pid)


def test_ctrl_c_ends_the_worker_there_too(pipeline, other, tmp_path):
    text = f"""
        import os, time
        def run_fn(fn_args):
            with open({str(tmp_path / "pid")!r}, "w") as file:
                file.write(str(os.getpid()))
            time.sleep(600)
        """
    built = pipeline(text)
    program = tmp_path / "program.py"
    program.write_text(
        "from stoker.cli import main\n"
        f"main(['train', {str(tmp_path / 'module.py')!r}, '--data', {str(tmp_path / 'data')!r}, "
        f"'--steps', '1', '--python', {other!r}, '--root', {built.pipeline_root!r}])\n"
    )
    _fill(tmp_path / "data")
    running = subprocess.Popen([sys.executable, str(program)], stderr=subprocess.PIPE, text=True)
    pid = _wait_for_pid(tmp_path / "pid", running)
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 130
    running.stderr.close()
    assert not is_running(pid)


def _fill(data):
    """Examples, for the statistics that `stoker train` computes."""
    from stoker.data.tfrecord import write_records
    from stoker.dsl.proto.example_pb2 import Example

    example = Example()
    example.features.feature["x"].float_list.value.append(1.0)
    for split in ("train", "eval"):
        write_records(str(data / f"Split-{split}" / "a.gz"), [example.SerializeToString()])


def _wait_for_pid(file, process):
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return int(file.read_text())


def test_the_files_it_loaded_and_its_versions_are_in_the_cache_key(
    pipeline, other, tmp_path, capfd, monkeypatch
):
    text = """
        def run_fn(fn_args):
            import importlib
            write(fn_args, found=importlib.import_module("late").VALUE)
        """
    (tmp_path / "late.py").write_text("VALUE = 1\n")
    built = pipeline(text)
    assert said_by(LocalDagRunner().run(built)) == {"found": 1}
    LocalDagRunner().run(built)
    assert "Trainer cached" in capfd.readouterr().err
    (tmp_path / "late.py").write_text("VALUE = 22\n")
    assert said_by(LocalDagRunner().run(built)) == {"found": 22}
    newer = Interpreter(path=other, version="3.99.0", tensorflow="")
    for place in ("stoker.launchers.interpreters.venvs", "stoker.runner.cache"):
        monkeypatch.setattr(f"{place}.inspect_python", lambda _: newer)
    capfd.readouterr()
    LocalDagRunner().run(built)
    assert "Trainer done" in capfd.readouterr().err


def test_inputs_that_make_no_fn_args_fail_the_step(pipeline):
    with pytest.raises(StepFailed, match=r"ValueError: The hyperparameters in .* are not JSON"):
        LocalDagRunner().run(pipeline("def run_fn(fn_args): pass\n", hyperparameters="{"))


def test_a_module_that_needs_tensorflow_is_refused_before_anything_runs(pipeline, tmp_path):
    text = "import tensorflow as tf\ndef run_fn(fn_args): pass\n"
    with pytest.raises(StokerError, match="Trainer needs TensorFlow, and there is none in"):
        LocalDagRunner().run(pipeline(text))
    assert not (tmp_path / "root" / "metadata.db").exists()


def test_a_python_that_is_not_there_is_named_before_anything_runs(pipeline):
    with pytest.raises(StokerError, match=r"There is no Python at /nowhere/python"):
        LocalDagRunner().run(pipeline("", python="/nowhere/python"))


def test_a_process_that_is_to_run_every_step_refuses(pipeline):
    with pytest.raises(ValueError, match="InProcess runs every step in this one"):
        LocalDagRunner(InProcess()).run(pipeline("def run_fn(fn_args): pass\n"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keras": 2}, "Trainer takes keras= or python=, not both"),
        ({"custom_executor_spec": ExecutorClassSpec("mine:Executor")}, "cannot run the executor"),
    ],
)
def test_what_another_interpreter_cannot_do_is_refused(pipeline, given, message):
    with pytest.raises(ValueError, match=message):
        pipeline("", **given)
