# SPDX-License-Identifier: Apache-2.0
"""Steps in containers: what is asked of the engine, and what is told where there is none.

The engine is a program of the test's own, which runs the command on this machine.
"""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tfx import v1 as tfx
from tfx.dsl.component.experimental import container_component, placeholders

from stoker.components.container import find_engine
from stoker.errors import BadPipeline, StepFailed
from stoker.launchers.in_process import InProcess
from stoker.orchestrators.kubeflow import KubeflowV2DagRunner, KubeflowV2DagRunnerConfig
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

ENGINE = """#!/bin/bash
[ "$1" = info ] && exit 0
echo "$@" >> "$(dirname "$0")/asked"
while [ "$1" != --entrypoint ]; do shift; done
entrypoint=$2; shift 3
exec "$entrypoint" "$@"
"""
SCRIPT = 'echo "$0 $1" > "$2"/note && cat "$2"/note'


class Note(tfx.dsl.Artifact):
    TYPE_NAME = "Note"


write = container_component.create_container_component(
    name="Write",
    image="example/busybox",
    outputs={"note": Note},
    parameters={"text": str, "number": int},
    command=[
        *("sh", "-c", SCRIPT),
        placeholders.ConcatPlaceholder(["<", placeholders.InputValuePlaceholder("text"), ">"]),
        placeholders.InputValuePlaceholder("number"),
        placeholders.OutputUriPlaceholder("note"),
    ],
)
copy = tfx.dsl.experimental.create_container_component(
    name="Copy",
    image="example/busybox",
    inputs={"old": Note},
    outputs={"new": Note},
    command=[
        *("cp", placeholders.ConcatPlaceholder([placeholders.InputUriPlaceholder("old"), "/note"])),
        placeholders.OutputUriPlaceholder("new"),
    ],
)
fail = tfx.dsl.experimental.create_container_component(
    name="Fail", image="example/busybox", command=["sh", "-c", "exit 7"]
)


def make_pipeline(root, *more):
    first = write(text="hello", number=3)
    second = copy(old=first.outputs["note"])
    return tfx.dsl.Pipeline("contained", str(root), components=[first, second, *more])


@pytest.fixture
def engine(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(ENGINE)
    (folder / "docker").chmod(0o755 | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_a_command_runs_in_its_container_and_its_outputs_are_published(engine, tmp_path):
    run = LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "root"))
    (note,) = run.outputs["Copy"]["new"]
    assert Path(note.uri, "note").read_text() == "<hello> 3\n"
    first, second = (engine / "asked").read_text().splitlines()
    made = tmp_path / "root/Write/note/1"
    assert first.startswith(f"run --rm --init --user {os.getuid()}:{os.getgid()} --volume {made}:")
    assert f"--volume {made}:{made}:ro --volume {note.uri}:{note.uri}:rw" in second


def test_a_container_that_fails_fails_the_step(engine, tmp_path):
    with pytest.raises(StepFailed, match="container of example/busybox ended with exit code 7"):
        LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "root", fail()))


def test_without_an_engine_it_is_told_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadPipeline, match="neither docker nor podman runs here"):
        LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "root"))


def test_a_compiled_pipeline_has_no_place_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = KubeflowV2DagRunnerConfig(default_image="image", pipeline_file="runner.py")
    with pytest.raises(BadPipeline, match="Write runs in the image 'example/busybox'"):
        KubeflowV2DagRunner(config).run(make_pipeline("root"))


def test_a_word_that_means_nothing_is_refused():
    with pytest.raises(ValueError, match="neither text nor a placeholder"):
        container_component.create_container_component(
            name="Wrong", image="i", command=[placeholders.InputUriPlaceholder("no")]
        )


@pytest.mark.envs
def test_a_real_engine_runs_it(tmp_path):
    name = find_engine()
    if name is None:
        pytest.skip("no container engine is running here")
    subprocess.run([name, "tag", "busybox", "example/busybox"], check=True)
    LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "root"))
