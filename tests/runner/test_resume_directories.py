# SPDX-License-Identifier: Apache-2.0
"""`fn_args.checkpoint_dir`: the same for the same work, another for other work, gone at the end."""

import os

import pytest

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.dsl.proto.trainer_pb2 import TrainArgs
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner, intercept
from stoker.runner.plan import RunOptions
from stoker.storage.locks import hold_dir

pytestmark = pytest.mark.slow

MODULE = """
import os

def run_fn(fn_args):
    mark = os.path.join(fn_args.checkpoint_dir, "mark")
    if os.environ.get("STOKER_TEST_STOPS"):
        os.makedirs(fn_args.checkpoint_dir, exist_ok=True)
        open(mark, "w").close()
        raise RuntimeError("stopped")
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "went_on"), "w") as file:
        file.write(str(os.path.exists(mark)))
"""


class Work:
    """One Trainer's work, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.module = folder / "module.py"
        self.module.write_text(MODULE)
        for split in ("train", "eval"):
            (folder / "examples" / f"Split-{split}").mkdir(parents=True)
            self.data = folder / "examples" / f"Split-{split}" / "part"
            self.data.write_text("records")

    @property
    def directories(self):
        return list((self.folder / "root" / ".stoker" / "checkpoints" / "Trainer").glob("*"))

    def run(self, steps=10, cache=False, **arguments):
        """Whether the training went on from where an earlier one was stopped."""
        examples = Examples()
        examples.uri, examples.split_names = str(self.folder / "examples"), '["train", "eval"]'
        trainer = Trainer(
            module_file=str(self.module),
            examples=as_channel([examples]),
            train_args=TrainArgs(num_steps=steps),
            check=False,
        )
        root = str(self.folder / "root")
        pipeline = Pipeline("resumes", root, components=[trainer], enable_cache=cache)
        run = LocalDagRunner(InProcess()).run(pipeline, **arguments)
        path = os.path.join(run.outputs["Trainer"]["model"][0].uri, "Format-Serving", "went_on")
        with open(path) as file:
            return file.read() == "True"


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Work that was stopped once."""
    found = Work(tmp_path)
    monkeypatch.setenv("STOKER_TEST_STOPS", "1")
    with pytest.raises(StepFailed, match="stopped"):
        found.run()
    monkeypatch.delenv("STOKER_TEST_STOPS")
    return found


@pytest.mark.parametrize("cache", [False, True])
def test_the_same_work_finds_what_was_left_and_leaves_nothing(work, cache):
    assert work.run(cache=cache) is True
    assert work.directories == []
    assert work.run(cache=False) is False


def test_a_hit_removes_what_a_run_left_that_was_killed_right_after_publishing(work):
    (directory,) = work.directories
    work.run(cache=True)
    directory.mkdir()
    (directory / "mark").touch()
    directory.with_name(f"{directory.name}.lock").touch()
    work.run(cache=True)
    assert work.directories == []


def test_other_parameters_are_other_work(work):
    assert work.run(steps=11) is False
    assert len(work.directories) == 1
    assert work.run(steps=10) is True


def test_other_code_is_other_work(work):
    work.module.write_text(MODULE + "\nprint('hello')\n")
    assert work.run() is False


def test_other_data_is_other_work(work):
    work.data.write_text("other records")
    assert work.run() is False


def test_a_fresh_run_ignores_what_was_left_and_removes_it(work):
    assert work.run(fresh=True) is False
    assert work.directories == []


def test_stoker_run_can_make_any_run_a_fresh_one(work):
    with intercept(RunOptions(fresh=True)):
        assert work.run() is False


def test_two_runs_of_the_same_work_at_once_do_not_share_it(work):
    (directory,) = work.directories
    with hold_dir(str(directory), otherwise=str(work.folder / "alone")):
        assert work.run() is False
        assert (directory / "mark").exists()
