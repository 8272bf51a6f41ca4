# SPDX-License-Identifier: Apache-2.0
"""Steps in containers: what is asked of the engine, and what is told where there is none.

The engine is a program of the test's own, which runs the command on this machine; so does the
cluster in `small_cluster.py`.
"""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from small_cluster import serve_cluster
from tfx import v1 as tfx
from tfx.dsl.component.experimental import container_component, executor_specs, placeholders
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

from stoker.components.container import find_engine
from stoker.errors import BadPipeline, StepFailed
from stoker.launchers import pods
from stoker.launchers.in_process import InProcess
from stoker.orchestrators.kubeflow import KubeflowV2DagRunnerConfig, compile_pipeline
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


class GrepSpec(ComponentSpec):
    INPUTS = {"text": ChannelParameter(type=Note)}
    OUTPUTS = {"found": ChannelParameter(type=Note)}
    PARAMETERS = {"pattern": ExecutionParameter(type=str)}


class Grep(base_component.BaseComponent):
    """As the examples of TFX's first years name a container."""

    SPEC_CLASS = GrepSpec
    EXECUTOR_SPEC = executor_spec.ExecutorContainerSpec(
        image="example/busybox",
        command=["sh", "-c", 'grep "$2" < "$0"/note > "$1"/note'],
        args=[
            '{{input_dict["text"][0].uri}}',
            "{{ output_dict['found'][0].uri }}",
            "<{{exec_properties.pattern}}>",
        ],
    )

    def __init__(self, text, pattern, **more):
        super().__init__(GrepSpec(text=text, pattern=pattern), **more)


def test_any_component_may_name_a_container_with_templates(engine, tmp_path):
    first = write(text="hello", number=3)
    grep = Grep(first.outputs["note"], "hello")
    pipeline = tfx.dsl.Pipeline("contained", str(tmp_path / "root"), components=[first, grep])
    (found,) = LocalDagRunner(InProcess()).run(pipeline).outputs["Grep"]["found"]
    assert Path(found.uri, "note").read_text() == "<hello> 3\n"


def test_a_component_may_be_given_a_container_in_place_of_its_executor(engine, tmp_path):
    first = write(text="hello", number=3)
    other = executor_specs.TemplatedExecutorContainerSpec(
        image="example/other",
        command=["sh"],
        args=["-c", 'echo other > "$0"/note', placeholders.OutputUriPlaceholder("found")],
    )
    grep = Grep(first.outputs["note"], "hello", custom_executor_spec=other)
    pipeline = tfx.dsl.Pipeline("contained", str(tmp_path / "root"), components=[first, grep])
    (found,) = LocalDagRunner(InProcess()).run(pipeline).outputs["Grep"]["found"]
    assert Path(found.uri, "note").read_text() == "other\n"
    assert "example/other" in (engine / "asked").read_text()


def test_without_a_command_the_image_has_its_own(engine, tmp_path):
    spec = executor_spec.ExecutorContainerSpec(
        image="true", args=["--size={{exec_properties.pattern}}"]
    )
    grep = Grep(write(text="a", number=3).outputs["note"], "b", custom_executor_spec=spec)
    assert grep.exec_properties["container_command"] == []
    (word,) = grep.exec_properties["container_args"]
    assert str(word) != "--size={{exec_properties.pattern}}"


@pytest.mark.parametrize(
    "word",
    ["{{input_dict['no'][0].uri}}", "{{exec_properties.no}}", "{{output_dict.found[1].uri}}"],
)
def test_a_template_that_means_nothing_is_refused_where_the_component_is_made(word):
    spec = executor_spec.ExecutorContainerSpec(image="image", args=[word])
    with pytest.raises(ValueError, match="A container's command has"):
        Grep(write(text="a", number=3).outputs["note"], "b", custom_executor_spec=spec)


class TestInACluster:
    """The step is in a pod, and its container is another."""

    @pytest.fixture
    def cluster(self, tmp_path, monkeypatch):
        shared = tmp_path / "shared"
        shared.mkdir()
        with serve_cluster(tmp_path, shared) as cluster:
            cluster.enter(monkeypatch)
            yield cluster

    def test_a_container_is_a_pod_with_the_volumes_of_the_step(self, cluster, tmp_path, capfd):
        run = LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "shared/root"))
        (note,) = run.outputs["Copy"]["new"]
        assert Path(note.uri, "note").read_text() == "<hello> 3\n"
        assert "<hello> 3" in capfd.readouterr().out
        assert cluster.removed == [one["metadata"]["name"] for one in cluster.made]

    def test_the_manifest(self, cluster, tmp_path):
        manifest = pods.make_manifest(cluster.own, image="alpine", command=["sh"], args=["-c", "x"])
        meta, spec = manifest["metadata"], manifest["spec"]
        assert (manifest["apiVersion"], manifest["kind"]) == ("v1", "Pod")
        assert meta["name"].startswith("penguin-system-container-impl-12-")
        assert meta["ownerReferences"][0]["uid"] == "8a1b"
        assert meta["annotations"] == {"sidecar.istio.io/inject": "false"}
        assert spec == {
            "serviceAccountName": "pipeline-runner",
            "nodeSelector": {"pool": "big"},
            "restartPolicy": "Never",
            "volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "root"}}],
            "containers": [
                {
                    **{"name": "main", "image": "alpine", "command": ["sh"], "args": ["-c", "x"]},
                    "resources": {"limits": {"cpu": "2"}},
                    "volumeMounts": [{"name": "root", "mountPath": str(tmp_path / "shared")}],
                }
            ],
        }

    def test_its_exit_code_is_the_steps(self, cluster, tmp_path):
        with pytest.raises(StepFailed, match="example/busybox ended with exit code 7"):
            LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "shared/root", fail()))
        assert len(cluster.removed) == len(cluster.made) == 2

    def test_an_image_that_is_not_there_is_told(self, cluster, tmp_path):
        cluster.waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        with pytest.raises(StepFailed, match="cannot start: ImagePullBackOff: no such image"):
            LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "shared/root"))
        assert len(cluster.removed) == 1

    def test_files_that_no_other_pod_sees_are_refused(self, cluster, tmp_path):
        with pytest.raises(StepFailed, match="is on no volume that other pods see"):
            LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "root"))
        assert not cluster.made

    def test_what_the_account_may_not_do_is_told(self, cluster, tmp_path):
        (cluster.account_dir / "token").write_text("another")
        with pytest.raises(StepFailed, match="refused GET of pods with 403: pods is forbidden"):
            LocalDagRunner(InProcess()).run(make_pipeline(tmp_path / "shared/root"))


class TestCompiled:
    """In files for Kubeflow."""

    @pytest.fixture(autouse=True)
    def _here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["runner.py"])

    def test_it_is_a_step_like_others_with_the_volume_of_its_root(self):
        config = KubeflowV2DagRunnerConfig(default_image="ours", volumes={"/mnt": "claim"})
        spec, platform = compile_pipeline(make_pipeline("/mnt/root"), config)
        container = spec["deploymentSpec"]["executors"]["exec-write"]["container"]
        assert [container["image"], *container["args"][:3]] == [
            "ours",
            "step",
            "runner.py",
            "Write",
        ]
        told = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-write"]
        (claim,) = told["pvcMount"]
        assert (claim["constant"], claim["mountPath"]) == ("claim", "/mnt")

    def test_a_root_in_a_bucket_is_refused(self):
        config = KubeflowV2DagRunnerConfig(default_image="ours")
        with pytest.raises(BadPipeline, match="'example/busybox', which see no files in s3://b/r"):
            compile_pipeline(make_pipeline("s3://b/r"), config)


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
