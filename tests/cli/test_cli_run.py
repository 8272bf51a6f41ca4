# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.slow

PIPELINE = """
from pathlib import Path
import sys, time
from tfx import v1 as tfx
from tfx.v1.dsl.components import OutputArtifact, Parameter, component

@component
def write(model: OutputArtifact[tfx.types.standard_artifacts.Model], text: Parameter[str]):
    Path(model.uri, "note").write_text(text)
    time.sleep(60 if text == "slow" else 0)
    assert text != "bad", "no such luck"

if __name__ == "__main__":
    step = write(text=tfx.dsl.experimental.RuntimeParameter("text", str, default="hello"))
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline("notes", "root", components=[step], enable_cache=True)
    )
    print("arguments", sys.argv[1:])
"""


@pytest.fixture
def file(here):
    path = here / "pipeline.py"
    path.write_text(PIPELINE)
    return path


def stoker_run(*words):
    return subprocess.run(
        [sys.executable, "-m", "stoker", "run", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_parameters_reach_the_pipeline_and_other_arguments_the_file(file, here):
    done = stoker_run(file, "--param", "text=abc", "--mine", "x", "--", "--param")
    assert done.returncode == 0, done.stderr
    assert (here / "root/write/model/1/note").read_text() == "abc"
    assert done.stdout == "arguments ['--mine', 'x', '--param']\n"
    assert "--mine" not in done.stderr


def test_a_misspelled_option_is_told_where_it_goes(file):
    done = stoker_run(file, "--forse", "write")
    assert "arguments ['--forse', 'write']" in done.stdout
    assert "--forse is given to the file: stoker run has no such option." in done.stderr
    assert "Did you mean '--force'?" in done.stderr


@pytest.mark.slow
def test_a_forced_step_runs_again(file, here):
    for words in ((), (), ("--force", "write")):
        assert stoker_run(file, *words).returncode == 0
    assert len(list((here / "root/write/model").iterdir())) == 2


def test_a_fresh_run_is_an_option_and_not_the_files_own_argument(file):
    done = stoker_run(file, "--fresh", "--mine")
    assert done.returncode == 0, done.stderr
    assert "arguments ['--mine']" in done.stdout


def test_a_failed_step_shows_the_users_traceback_and_one_line(file):
    done = stoker_run(file, "--param", "text=bad")
    assert done.returncode == 1
    assert 'assert text != "bad"' in done.stderr
    assert "\nstoker: write failed: AssertionError: no such" in done.stderr
    assert "click" not in done.stderr


def test_a_parameter_without_a_value_is_wrong_usage(file):
    done = stoker_run(file, "--param", "text")
    assert done.returncode == 2
    assert "stoker: --param takes NAME=VALUE, got 'text'." in done.stderr


def test_arguments_that_stoker_refuses_are_told_with_their_line(here):
    file = here / "pipeline.py"
    file.write_text("from tfx.components import Trainer\n\nTrainer(examples=3)\n")
    done = stoker_run("pipeline.py")
    assert done.returncode == 1
    assert done.stderr.startswith("stoker: pipeline.py:3: Trainer needs exactly one of")
    assert "Traceback" not in done.stderr


def test_a_mistake_in_the_file_shows_the_files_own_traceback(here):
    (here / "pipeline.py").write_text("def main():\n    nothing\n\nmain()\n")
    done = stoker_run("pipeline.py")
    assert done.returncode == 1
    assert "runpy" not in done.stderr
    assert 'pipeline.py", line 2, in main' in done.stderr
    assert "stoker: pipeline.py failed: NameError" in done.stderr


@pytest.mark.parametrize("ending", ["pass", "import sys; sys.exit()"])
def test_a_file_that_runs_no_pipeline_says_what_it_should_do(here, ending):
    (here / "pipeline.py").write_text(ending)
    done = stoker_run("pipeline.py")
    assert done.returncode == 1
    assert "stoker: pipeline.py ran no pipeline." in done.stderr


def test_a_file_in_a_package_finds_the_package(file, here):
    package = here / "my-project" / "notes"
    package.mkdir(parents=True)
    file.rename(package / "steps.py")
    (package / "__init__.py").touch()
    (package / "run.py").write_text(
        "from tfx import v1 as tfx\nfrom notes import steps\n"
        "step = steps.write(text='packed')\n"
        "tfx.orchestration.LocalDagRunner().run(tfx.dsl.Pipeline('p', 'root', components=[step]))"
    )
    done = stoker_run("my-project/notes/run.py")
    assert done.returncode == 0, done.stderr
    assert (here / "root/write/model/1/note").read_text() == "packed"


def test_the_exit_code_of_the_file_is_kept(here):
    (here / "pipeline.py").write_text("import sys; sys.exit(7)")
    assert stoker_run("pipeline.py").returncode == 7


def test_ctrl_c_ends_with_130(file, here):
    process = subprocess.Popen(
        [sys.executable, "-m", "stoker", "run", str(file), "--param", "text=slow"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (here / "root/write/model/1/note").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_file_that_is_not_there_is_wrong_usage():
    done = stoker_run("nowhere.py")
    assert done.returncode == 2
    assert textwrap.shorten(done.stderr, 80).startswith("stoker: Invalid value for 'FILE'")
