"""What a step's code reads besides its inputs and parameters: a change of that is a miss."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.dsl import Pipeline
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

PIPELINE = """
from pathlib import Path
from absl import app
from stoker.artifacts import Model
from stoker.dsl import OutputArtifact, Pipeline, component
from stoker.runner import LocalDagRunner
import code_of_the_step

@component
def step(model: OutputArtifact[Model]):
    Path(model.uri, "found").write_text(repr(code_of_the_step.read()))

def main(_):
    LocalDagRunner().run(Pipeline("reads", "root", components=[step()], enable_cache=True))

if __name__ == "__main__":
    app.run(main)
"""
CODE = """
import argparse, glob, json, os, pathlib, sqlite3, subprocess, sys, tempfile
from absl import flags
HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 0.5, "")
flags.DEFINE_string("api_token", "", "")
flags.DEFINE_string("unread", "", "")

"""


@pytest.fixture
def project(tmp_path):
    """A user's folder with a pipeline of one step; `write` gives the step's code."""
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "root").mkdir()
    return tmp_path


def write(project: Path, body: str) -> None:
    (project / "code_of_the_step.py").write_text(f"{CODE}def read():\n    {body}\n")


def run(project: Path, *flags: str, **variables: str) -> str:
    """Run the pipeline file as a user does; why the step was run or not."""
    done = subprocess.run(
        [sys.executable, "pipeline.py", *flags],
        cwd=project,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pipeline = Pipeline("reads", str(project / "root"))
    with Store(pipeline.store_config(str(project / "root"))) as store:
        return str(
            store.executions(pipeline_name="reads", node_id="step")[-1].properties[
                "cache_explanation"
            ]
        )


def test_a_flag_that_the_code_reads_is_a_miss_that_says_its_value(project):
    write(project, "return FLAGS.lr")
    run(project, "--lr=0.1")
    assert run(project, "--lr=0.1", "--unread=x").startswith("hit")
    assert run(project, "--lr=0.9") == "miss: flag --lr changed: 0.9, was 0.1"
    assert run(project) == "miss: flag --lr changed: not set, was 0.9"
    assert run(project, "--lr=0.1").startswith("hit")


def test_a_flag_that_is_a_secret_is_neither_said_nor_kept(project):
    write(project, "return len(FLAGS['api_token'].value)")
    run(project, "--api_token=old-word")
    assert run(project, "--api_token=new-word") == "miss: flag --api_token changed"
    assert b"old-word" not in (project / "root" / "metadata.db").read_bytes()


def test_an_environment_variable_is_a_miss_and_its_value_is_not_kept(project):
    write(project, "return os.getenv('RATE')")
    run(project, RATE="old-word")
    assert run(project, RATE="old-word", OTHER="1").startswith("hit")
    assert run(project, RATE="new-word") == "miss: environment variable RATE changed"
    assert b"old-word" not in (project / "root" / "metadata.db").read_bytes()


def test_the_command_line_counts_for_code_that_reads_it(project):
    write(
        project,
        "parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--lr', type=float)\n"
        "    return parser.parse_known_args()[0].lr",
    )
    run(project, "--lr=0.1")
    assert run(project, "--lr=0.1").startswith("hit")
    assert run(project, "--lr=0.9") == "miss: the command line, which the code reads, changed"


def test_code_that_lists_all_variables_depends_on_all_but_the_shells(project):
    write(project, "return {k: v for k, v in os.environ.items() if k.startswith('APP_')}")
    run(project, APP_RATE="1")
    shell = {"COLUMNS": "40", "TERM": "dumb", "SHLVL": "9", "PWD": "/", "SSH_TTY": "/dev/pts/9"}
    assert run(project, APP_RATE="1", **shell).startswith("hit")
    assert run(project, APP_RATE="2") == "miss: environment variable APP_RATE changed"
    assert "other environment variables" in run(project, APP_RATE="2", APP_NEW="1")


WAYS_TO_READ = {
    "opened": "open(os.path.join(HERE, 'opened')).read()",
    "pathlib": "pathlib.Path('pathlib').read_text()",
    "descriptor": "os.read(os.open('descriptor', os.O_RDONLY), 100)",
    "process": "subprocess.run(['cat', 'process'], stdout=subprocess.PIPE).stdout",
    "lines": "__import__('linecache').getlines('lines')",
    "resource": "__import__('pkgutil').get_data('code_of_the_step', 'resource')",
    "database": "sqlite3.connect('database').execute('select 1').fetchall()",
    "sh.csv": "os.system('cat sh.csv')",
}


def test_files_beside_the_code_are_a_miss_when_they_change_however_they_are_read(project):
    write(project, f"return [{', '.join(WAYS_TO_READ.values())}]")
    files = [project / name for name in WAYS_TO_READ]
    for file in files:
        file.touch()
    run(project)
    for file in files:
        os.utime(file)
    assert run(project).startswith("hit")
    for file in files:
        file.write_text("2")
    (project / "database").unlink()
    why = run(project)
    for file in files[:-1]:
        assert f"file {file} " in why


def test_a_file_that_was_not_there_and_a_folder_that_was_listed_count_too(project):
    write(project, "return os.path.exists('override.json'), sorted(glob.glob('parts/*.csv'))")
    (project / "parts").mkdir()
    run(project)
    assert run(project).startswith("hit")
    (project / "parts" / "new.csv").touch()
    assert run(project).endswith(
        f"folder {project / 'parts'}, which the code lists, has other files"
    )
    (project / "override.json").touch()
    assert run(project) == f"miss: {project / 'override.json'} is there now"


def test_what_the_step_writes_itself_and_temporary_files_do_not_count(project):
    write(
        project,
        "os.path.exists('made') or os.mkdir('made')\n"
        "    pathlib.Path('made', 'own').write_text(str(os.getpid()))\n"
        "    with tempfile.NamedTemporaryFile('w', delete=False) as file:\n"
        "        file.write('x')\n"
        "    return pathlib.Path('made', 'own').read_text(), open(file.name).read()",
    )
    run(project)
    assert run(project).startswith("hit")


def test_nothing_is_left_in_the_temporary_folder_of_the_system(project, tmp_path_factory):
    write(project, "return tempfile.mkdtemp(), tempfile.mkstemp(), os.environ['TMPDIR']")
    for number in range(2):  # another one for each run, as jobs of a cluster have it
        folder = tmp_path_factory.mktemp(f"tmp{number}")
        why = run(project, TMPDIR=str(folder))
        assert list(folder.iterdir()) == []
    assert why.startswith("hit")
    assert list((project / "root" / ".stoker" / "tmp").iterdir()) == []


def install(project: Path, version: str) -> None:
    """Install a package of this version, as pip does."""
    site = project / "site-packages"
    shutil.rmtree(site, ignore_errors=True)
    (site / "tiny").mkdir(parents=True)
    (site / "tiny" / "__init__.py").touch()
    described = site / f"tiny_dist-{version}.dist-info"
    described.mkdir()
    described.joinpath("METADATA").write_text(f"Name: tiny-dist\nVersion: {version}\n")
    described.joinpath("RECORD").write_text("tiny/__init__.py,,\n")


def test_another_version_of_a_package_that_the_code_imports_is_a_miss(project):
    write(project, "import tiny; return tiny.__name__")
    paths = os.pathsep.join([str(project / "site-packages"), os.environ.get("PYTHONPATH", "")])
    install(project, "1.0")
    run(project, PYTHONPATH=paths)
    install(project, "1.0")
    assert run(project, PYTHONPATH=paths).startswith("hit")
    install(project, "1.1")
    assert run(project, PYTHONPATH=paths) == "miss: version of tiny changed"


RESUMABLE = """
from absl import app
from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.runner import LocalDagRunner
import code_of_the_step

def main(_):
    examples = Examples()
    examples.uri, examples.split_names = "examples", '["train", "eval"]'
    trainer = Trainer(
        module_file="code_of_the_step.py", examples=as_channel([examples]), check=False,
        train_args={"num_steps": 1},
    )
    LocalDagRunner().run(Pipeline("reads", "root", components=[trainer]))

if __name__ == "__main__":
    app.run(main)
"""
TRAINING = """
def run_fn(fn_args):
    mark = os.path.join(fn_args.checkpoint_dir, "rate")
    rates = open(mark).read() if os.path.exists(mark) else ""
    with open(mark, "w") as file:
        file.write(f"{rates} {FLAGS.lr}")
    if os.environ.get("STOKER_TEST_DIES"):
        os.kill(os.getpid(), 9)
    os.makedirs(fn_args.serving_model_dir)
    os.replace(mark, os.path.join(fn_args.serving_model_dir, "rates"))
"""


@pytest.mark.parametrize(("rate", "trained_with"), [("0.1", " 0.1 0.1"), ("0.001", " 0.001")])
def test_a_training_goes_on_only_with_the_flags_that_it_began_with(project, rate, trained_with):
    (project / "pipeline.py").write_text(RESUMABLE)
    (project / "code_of_the_step.py").write_text(CODE + TRAINING)
    for split in ("train", "eval"):
        (project / "examples" / f"Split-{split}").mkdir(parents=True)
    command = [sys.executable, "pipeline.py"]
    dies = {**os.environ, "STOKER_TEST_DIES": "1"}
    subprocess.run([*command, "--lr=0.1"], cwd=project, env=dies, check=False)
    done = subprocess.run([*command, f"--lr={rate}"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (rates,) = project.glob("root/Trainer/model/*/Format-Serving/rates")
    assert rates.read_text() == trained_with
    why = "Trainer: starting from the beginning: flag --lr changed: 0.001, was 0.1"
    assert (why in done.stderr) == (rate != "0.1")
