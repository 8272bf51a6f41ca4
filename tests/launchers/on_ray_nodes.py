# SPDX-License-Identifier: Apache-2.0
"""Ray with a head and three nodes: a process, a host and a node are lost, and training goes on.

STOKER_KILLS says how often each of them is killed, each time at another step.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from killed_training import (
    CHECKPOINT_SECONDS,
    NUM_STEPS,
    check_steps,
    steps_of,
    train_and_kill,
)

from stoker.launchers.on_ray import OnRay

pytestmark = [pytest.mark.tf, pytest.mark.slow]

KILLS = int(os.environ.get("STOKER_KILLS", "1"))
NUM_NODES = 3
DETECTION_SECONDS = 10.0


@pytest.fixture(scope="module")
def cluster():
    """A head that runs nothing; the nodes that come to it have room for one process each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield cluster
    cluster.shutdown()


class Timed:
    """A launcher that notes when a worker group begins again."""

    def __init__(self, launcher):
        self.launcher, self.warned_at = launcher, []
        self.prepare, self.close = launcher.prepare, launcher.close

    def launch(self, task, watcher):
        self.watcher = watcher
        return self.launcher.launch(task, self)

    def output(self, data, *, error):
        self.watcher.output(data, error=error)

    def event(self, record):
        if record["kind"] == "warning":
            self.warned_at.append(time.time())
        self.watcher.event(record)


def parents(pid):
    while pid > 1:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill_process(cluster, pid):
    os.kill(pid, signal.SIGKILL)


def kill_host(cluster, pid):
    """Of the process, the fork server that forked it, and the host above that."""
    os.kill(list(parents(pid))[2], signal.SIGKILL)


def kill_node(cluster, pid):
    above = set(parents(pid))
    (node,) = (
        node
        for node in cluster.worker_nodes
        if node.all_processes["raylet"][0].process.pid in above
    )
    cluster.remove_node(node, allow_graceful=False)


@pytest.mark.parametrize("kill", [kill_process, kill_host, kill_node])
def test_training_goes_on_whatever_is_lost(tmp_path, monkeypatch, cluster, kill):
    monkeypatch.setenv("STOKER_CHECKPOINT_SECONDS", str(CHECKPOINT_SECONDS))
    chance = random.Random(kill.__name__)
    for number in range(KILLS):
        while len(cluster.worker_nodes) < NUM_NODES:
            cluster.add_node(num_cpus=1)
        victim = ["worker", "chief"][number % 2]
        killed_pids = []

        def kill_one(notes, victim=victim, killed=killed_pids):
            killed.append(steps_of(notes, victim)[-1][2])
            kill(cluster, killed[0])

        step = chance.randrange(2, NUM_STEPS - 5)
        launcher = Timed(OnRay(cluster.address))
        killed_at, notes = train_and_kill(tmp_path / str(number), step, kill_one, launcher)
        check_steps(notes, killed_at)
        seconds = launcher.warned_at[0] - killed_at
        print(f"{kill.__name__} of the {victim} at step {step}: found after {seconds:.1f} s")
        assert seconds < DETECTION_SECONDS
        pids = {pid for role in ("chief", "worker") for _, _, pid in steps_of(notes, role)}
        assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == [], "left behind"
