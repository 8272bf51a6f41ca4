# SPDX-License-Identifier: Apache-2.0
"""Worker groups whose members are pods, of a small cluster whose pods are processes here."""

import os
from pathlib import Path

import pytest
from killed_training import NUM_STEPS, steps_of, train
from marked_worker_group import WorkerGroup
from small_cluster import make_own_pod, serve_cluster

from stoker.errors import StepFailed
from stoker.launchers import on_pods
from stoker.launchers.on_pods import OnPods, make_worker_manifest
from stoker.task import Member, Workers


def test_a_worker_has_the_image_and_the_variables_of_the_step(tmp_path):
    own = make_own_pod(tmp_path)
    workers = Workers(2, cpus_each=4, gpus_each=1)
    manifest = make_worker_manifest(own, "/mnt/folder", Member(role="worker"), workers)
    (container,) = manifest["spec"]["containers"]
    assert container["image"] == "ours"
    assert container["command"][1:] == ["-m", "stoker.launchers.pod_host", "/mnt/folder"]
    assert container["env"] == [
        {"name": "PASSWORD", "value": "only ours"},
        {"name": "STOKER_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    assert container["workingDir"] == os.getcwd()
    assert container["resources"] == {"limits": {"cpu": "4", "nvidia.com/gpu": "1"}}
    assert container["volumeMounts"] == [{"name": "root", "mountPath": str(tmp_path)}]
    server = make_worker_manifest(own, "/mnt/folder", Member(role="ps"), workers)
    assert server["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "4"}}


def test_outside_of_a_pod_it_is_told_at_once():
    with pytest.raises(StepFailed, match="this is none"):
        OnPods()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    with serve_cluster(tmp_path, tmp_path) as cluster:
        cluster.enter(monkeypatch)
        monkeypatch.setattr(on_pods, "_ASK_SECONDS", 0.3)
        yield cluster


@pytest.fixture
def group(tmp_path, monkeypatch, cluster):
    return WorkerGroup(tmp_path, monkeypatch, OnPods())


@pytest.mark.tf
@pytest.mark.slow
def test_two_pods_train_one_model_with_tensorflow(tmp_path, cluster):
    train(tmp_path / "training", Workers(2), launcher=OnPods())
    assert (tmp_path / "training/notes/counted").read_text() == str(NUM_STEPS)
    num_steps = [len(steps_of(tmp_path / "training/notes", role)) for role in ("chief", "worker")]
    assert num_steps == [NUM_STEPS, NUM_STEPS]
    assert len(cluster.made) == len(cluster.removed) == 2


@pytest.mark.slow
class TestGroups:
    """With code of their own instead of TensorFlow's."""

    def test_each_member_is_a_pod_and_the_chiefs_model_is_published(self, group, cluster, capfd):
        outputs = group.train("print(me, 'good morning', flush=True)", check=False)
        assert group.starts() == ["chief-0.0", "worker-0.0"]
        assert Path(outputs["model"][0].uri, "Format-Serving/model.txt").read_text() == "chief-0"
        logs = Path(outputs["model_run"][0].uri, "workers")
        assert "worker-0 good morning" in (logs / "worker-0.log").read_text()
        assert "chief-0 good morning" in capfd.readouterr().out
        assert len(cluster.made) == 2
        assert set(cluster.removed) == set(cluster.processes)

    def test_a_pod_that_is_lost_starts_all_again(self, group, cluster):
        body = "if attempt == 0 and me == 'worker-0':\n    os.kill(os.getppid(), 9); time.sleep(60)"
        group.train(f"{body}\nif attempt == 0: time.sleep(60)", check=False)
        assert group.starts() == ["chief-0.0", "chief-0.1", "worker-0.0", "worker-0.1"]
        assert len(cluster.made) == 4

    def test_a_failure_in_a_pod_is_told_with_its_traceback(self, group, capfd):
        with pytest.raises(StepFailed, match=r"ValueError: worker-0 \(pod .*\): no luck"):
            group.train("if me == 'worker-0': raise ValueError('no luck')\ntime.sleep(60)")
        assert "module.py" in capfd.readouterr().err

    def test_pods_that_cannot_start_are_removed(self, group, cluster):
        cluster.waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        with pytest.raises(StepFailed, match="cannot start: ImagePullBackOff"):
            group.train("pass")
        assert len(cluster.removed) == len(cluster.made) == 2
