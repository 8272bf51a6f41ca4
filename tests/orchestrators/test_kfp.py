# SPDX-License-Identifier: Apache-2.0
"""Compiled pipelines in the hands of Kubeflow's own SDK, and of Vertex AI's.

The only part of kfp that is replaced is the one that would start a container: its command is run as
a subprocess, in the folder that the image would have.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import kfp_env
import pytest

from stoker.artifacts import every
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store

pytestmark = pytest.mark.envs

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
RUNNER = """tfx.orchestration.experimental.KubeflowV2DagRunner(
        config=tfx.orchestration.experimental.KubeflowV2DagRunnerConfig(default_image="x/image"),
        output_filename="compiled.yaml",
    )"""
STEPPED = HERE.parent / "cli" / "stepped_pipeline.py"
ENVIRON = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def kfp():
    python = kfp_env.python()

    def call(*words, folder):
        command = [python, kfp_env.__file__, *map(str, words)]
        return subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True, text=True)

    return call


@pytest.fixture
def project(tmp_path):
    """The examples, whose files end in a runner for Kubeflow."""
    for name in ("penguin", "taxi", "taxi_blessed", "taxi_estimator"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
        file = tmp_path / name / "pipeline.py"
        text = file.read_text()
        assert "tfx.orchestration.LocalDagRunner()" in text
        (tmp_path / name / "local.py").write_text(text)
        file.write_text(text.replace("tfx.orchestration.LocalDagRunner()", RUNNER))
    return tmp_path


def python(folder, *words):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def answer(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def describe(store_file):
    """What the newest run of a store did, without ids and times."""
    with Store(sqlite_metadata_connection_config(store_file)) as store:
        (run,) = store.runs(newest=1)
        described = {}
        for step in store.executions(run_id=run.run_id):
            inputs, outputs = store.inputs(step.id), store.outputs(step.id)
            described.setdefault(step.node_id, []).append(
                {
                    "standing": step.standing,
                    "type": step.type_name,
                    "read": {
                        key: [_name(store, one) for one in many] for key, many in inputs.items()
                    },
                    "made": {key: [one.type_name for one in many] for key, many in outputs.items()},
                    "live": sorted({one.state for one in every(outputs)}),
                }
            )
        return run_state(run), described


def _name(store, artifact):
    lineage = store.lineage(artifact.id)
    makers = {one.execution_id for one in lineage.events if one.artifact_id == artifact.id}
    nodes = {one.node_id for one in lineage.executions if one.id in makers}
    return artifact.type_name, sorted(nodes)[:1]


def test_the_sdks_load_every_example(project, kfp):
    files = []
    for name in ("penguin", "taxi", "taxi_blessed", "taxi_estimator"):
        python(project, f"{name}/pipeline.py")
        (project / "compiled.yaml").rename(project / f"{name}.yaml")
        files.append(project / f"{name}.yaml")
    loaded = answer(kfp("load", *files, folder=project))
    assert [one["name"] for one in loaded][2:] == ["taxi-blessed", "taxi-estimator"]
    assert loaded[0]["tasks"]["trainer"] == ["csvexamplegen", "schemagen"]
    sent = answer(kfp("vertex", *files, folder=project))
    assert [sorted(one["tasks"]) for one in loaded] == [one["tasks"] for one in sent]


def test_runner_files_of_tfx_projects(tmp_path, kfp):
    words = ["--pipeline_name=my_project", "--model=penguin", f"--destination_path={tmp_path}/p"]
    program = "from stoker.cli.tfx_command import main; main()"
    python(tmp_path, "-c", program, "template", "copy", *words)
    for file in (HERE / "projects").glob("kubeflow*.py"):
        shutil.copy(file, tmp_path / "p")
        python(tmp_path / "p", file.name)
    with tarfile.open(tmp_path / "p" / "my_project.tar.gz") as archive:
        archive.extractall(tmp_path / "p", filter="data")
    files = ["pipeline.json", "pipeline.yaml"]
    first, second = answer(kfp("load", *files, folder=tmp_path / "p"))
    assert first == second
    assert len(first["tasks"]) == 9
    assert answer(kfp("vertex", *files, folder=tmp_path / "p"))[0] == {
        "tasks": sorted(first["tasks"])
    }


@pytest.mark.tf
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("penguin", ["--steps=30"]),
        ("taxi_blessed", ["--rows=1500", "--trials=1", "--train_steps=60"]),
    ],
)
def test_kfp_runs_a_pipeline_to_its_end(project, kfp, name, arguments):
    python(project, f"{name}/pipeline.py", "--root=root", *arguments)
    done = kfp("run", "compiled.yaml", project / "kfp", folder=project)
    assert done.returncode == 0, done.stdout + done.stderr
    state, steps = describe(project / "root" / "metadata.db")
    assert state == "complete"
    python(project, f"{name}/local.py", "--root=local", *arguments)
    assert describe(project / "local" / "metadata.db") == (state, steps)


def test_parameters_and_conditions_behave_as_locally(tmp_path, kfp):
    compile_stepped(tmp_path, "0", "5")
    done = kfp("run", "compiled.yaml", tmp_path / "kfp", '{"value": 3}', folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    state, steps = describe(tmp_path / "root/metadata.db")
    assert state == "complete"
    standings = {name: [one["standing"] for one in many] for name, many in steps.items()}
    assert standings == {
        "number": ["complete"],
        "slow": ["complete"],
        "big": ["skipped"],
        "after_big": ["skipped"],
    }
    assert (tmp_path / "root/slow/out/2/value").read_text() == "4"
    again = kfp("run", "compiled.yaml", tmp_path / "kfp", '{"value": 5}', folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert (tmp_path / "marks").read_text().split() == [
        *("number", "slow", "number", "slow", "big", "after_big")
    ]


@pytest.mark.parametrize(("retries", "num_tries"), [(None, 1), (2, 3)])
def test_a_failing_step_is_retried_as_often_as_locally(tmp_path, kfp, retries, num_tries):
    compile_stepped(tmp_path, retries=retries)
    (tmp_path / "fail").touch()
    done = kfp("run", "compiled.yaml", tmp_path / "kfp", folder=tmp_path)
    assert done.returncode == 1
    assert "OSError: the disk is full" in done.stdout + done.stderr
    assert "Inner task failed" in done.stderr
    state, steps = describe(tmp_path / "root/metadata.db")
    assert state == "failed"
    assert [one["standing"] for one in steps["slow"]] == ["failed"] * num_tries
    assert (tmp_path / "marks").read_text().split().count("slow") == num_tries
    assert "big" not in steps


def compile_stepped(folder, *arguments, retries=None):
    """The light pipeline of tests/cli, with a runner for Kubeflow."""
    text = STEPPED.read_text().replace("LocalDagRunner(launcher)", RUNNER)
    if retries:
        text = text.replace("    with Cond(", f"    slowly.retries = {retries}\n    with Cond(")
    text = text.replace("    print(", "    run or print(").replace("len(run.outputs)", "0")
    (folder / "pipeline.py").write_text(text)
    python(folder, "pipeline.py", *arguments)
