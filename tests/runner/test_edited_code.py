"""Code that is edited between runs, or while a step runs: what it made is reused only if it may."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import ExecutorClassSpec, as_channel
from stoker.runner import cache
from stoker.runner.plan import plan_step
from stoker.storage.digests import FileDigests

pytestmark = pytest.mark.slow

PIPELINE = """
import time
from pathlib import Path
import neighbour
from stoker.artifacts import Model
from stoker.dsl import OutputArtifact, Pipeline, component
from stoker.runner import LocalDagRunner

@component
def step(model: OutputArtifact[Model]):
    Path(model.uri, "value").write_text(str(neighbour.VALUE))
    if Path("root/edit_while_running").exists():
        Path("root/started").touch()
        while Path("root/started").exists():
            time.sleep(0.01)

if __name__ == "__main__":
    LocalDagRunner().run(Pipeline("edited", "root", components=[step()], enable_cache=True))
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "neighbour.py").write_text("VALUE = 1\n")
    return tmp_path


def run(project: Path) -> str:
    """Run the pipeline file, as a user does; what it printed."""
    done = subprocess.run(
        [sys.executable, "pipeline.py"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def values_written(project: Path) -> list[str]:
    """What each execution of the step has written, the first one first."""
    files = (project / "root" / "step" / "model").glob("*/value")
    return [file.read_text() for file in sorted(files, key=lambda file: int(file.parent.name))]


def test_an_edit_behind_the_back_of_size_and_time_is_seen_and_the_new_code_runs(project):
    neighbour = project / "neighbour.py"
    run(project)
    run(project)
    assert values_written(project) == ["1"]
    before = neighbour.stat()
    neighbour.write_text("VALUE = 2\n")
    os.utime(neighbour, ns=(before.st_atime_ns, before.st_mtime_ns))
    run(project)
    assert values_written(project) == ["1", "2"]


def test_state_at_the_top_level_of_the_pipeline_file_counts(project):
    stateful = PIPELINE.replace("neighbour.VALUE", 'CONFIG["value"]').replace(
        "@component", 'CONFIG = {"value": 0}\nCONFIG["value"] = 1\n\n@component'
    )
    for text in (stateful, stateful + "\ndef unrelated(): pass\n", stateful.replace("= 1", "= 2")):
        (project / "pipeline.py").write_text(text)
        run(project)
    assert values_written(project) == ["1", "2"]


def edit_while_running(project: Path, edit) -> str:
    """Run the pipeline, and do something when its step has loaded its code; what it printed."""
    (project / "root").mkdir(exist_ok=True)  # what is in there is not the user's
    (project / "root" / "edit_while_running").touch()
    started = project / "root" / "started"
    with subprocess.Popen(
        [sys.executable, "pipeline.py"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        while not started.exists():
            assert running.poll() is None
            time.sleep(0.01)
        edit()
        started.unlink()
        (project / "root" / "edit_while_running").unlink()
        printed, _ = running.communicate()
    assert running.returncode == 0
    return printed


def test_what_is_made_while_its_code_is_edited_is_published_and_never_reused(project):
    neighbour = project / "neighbour.py"
    printed = edit_while_running(project, lambda: neighbour.write_text("VALUE = 2\n"))
    assert f"later runs will not reuse this: while it ran, file {neighbour} changed" in printed
    neighbour.write_text("VALUE = 1\n")  # as it was when the step loaded it: but who knows that?
    run(project)
    run(project)
    assert values_written(project) == ["1", "1"]


def test_an_edit_of_the_step_itself_while_it_runs_counts_too(project):
    pipeline = project / "pipeline.py"
    edited = PIPELINE.replace("neighbour.VALUE", "neighbour.VALUE * 3")
    printed = edit_while_running(project, lambda: pipeline.write_text(edited))
    assert "while it ran, source of step changed" in printed
    run(project)
    assert values_written(project) == ["1", "3"]


def test_touching_and_other_edits_while_a_step_runs_do_no_harm(project):
    def edit():
        (project / "neighbour.py").touch()
        (project / "pipeline.py").write_text(PIPELINE + "\n# the end")

    edit_while_running(project, edit)
    run(project)
    assert values_written(project) == ["1"]


WITH_EXECUTOR = """
from pathlib import Path
from stoker.artifacts import Examples, Model
from stoker.components.trainer.component import Trainer
from stoker.dsl import ExecutorClassSpec, Pipeline, as_channel
from stoker.dsl.executor import BaseExecutor
from stoker.runner import LocalDagRunner

CONFIG = {"rate": 1}

class Base(BaseExecutor):
    def rate(self):
        return CONFIG["rate"]

class Executor(Base):
    def Do(self, input_dict, output_dict, exec_properties):
        model = Path(output_dict["model"][0].uri, "Format-Serving")
        model.mkdir()
        (model / "value").write_text(str(self.rate()))

CONFIG["rate"] = 1

def unrelated():
    return 1

if __name__ == "__main__":
    examples = Examples()
    examples.uri = "examples"
    trainer = Trainer(
        module_file="module.py",
        examples=as_channel([examples]),
        custom_executor_spec=ExecutorClassSpec(Executor),
        check=False,
    )
    LocalDagRunner().run(Pipeline("edited", "root", components=[trainer], enable_cache=True))
"""


@pytest.mark.tf
def test_an_executor_of_the_users_own_counts(project):
    (project / "examples").mkdir()
    (project / "module.py").write_text("def run_fn(fn_args): pass")
    unrelated = WITH_EXECUTOR.replace("return 1", "return 2")
    for text in (WITH_EXECUTOR, unrelated, WITH_EXECUTOR.replace("rate())", "rate() * 10)")):
        (project / "pipeline.py").write_text(text)
        run(project)
    files = (project / "root" / "Trainer" / "model").glob("*/Format-Serving/value")
    assert sorted(int(file.read_text()) for file in files) == [1, 10]


def collect_parts(project: Path, text: str) -> dict[str, str]:
    """What a Trainer with the executor of a pipeline file depends on."""
    (project / "pipeline.py").write_text(text)
    trainer = Trainer(
        module_file=str(project / "neighbour.py"),
        examples=as_channel([Examples()]),
        custom_executor_spec=ExecutorClassSpec(f"{project / 'pipeline.py'}:Executor"),
    )
    plan = plan_step(trainer, trainer.spec.values({}))
    return cache.collect_parts(trainer, plan, {}, FileDigests(str(project / "digests.json")))


@pytest.mark.parametrize(
    "edit",
    [
        ("str(self.rate())", "str(self.rate() * 10)"),
        ('return CONFIG["rate"]', 'return CONFIG["rate"] + 1'),
        ('CONFIG["rate"] = 1', 'CONFIG["rate"] = 3'),
    ],
)
def test_an_executor_counts_with_its_body_its_bases_and_its_state(project, edit):
    before = collect_parts(project, WITH_EXECUTOR)
    after = collect_parts(project, WITH_EXECUTOR.replace(*edit))
    assert [name for name in before if before[name] != after[name]] == ["source of Executor"]
    assert "file neighbour.py" in before
    assert collect_parts(project, WITH_EXECUTOR.replace("return 1", "return 2")) == before
