# SPDX-License-Identifier: Apache-2.0
"""Steps and worker groups on a Ray of our own, with their own code instead of TensorFlow's."""

import contextlib
import os
import shutil
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from marked_worker_group import WorkerGroup
from test_launcher_example import say_where

from stoker.dsl import Pipeline
from stoker.errors import MissingPart, StepFailed, StokerError
from stoker.launchers import on_ray, ray_session
from stoker.launchers.on_ray import OnRay, bundles_for
from stoker.launchers.ray_session import connect
from stoker.launchers.resources import find_free_addresses, share_node
from stoker.launchers.shipping import pack
from stoker.launchers.worker_group import list_members
from stoker.runner import LocalDagRunner
from stoker.task import Task, Workers


def test_whoever_has_no_ray_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPart, match=r"pip install 'stoker\[ray\]'"):
        OnRay()


@pytest.mark.parametrize(
    ("workers", "total_cpus", "bundles"),
    [
        (Workers(2), 64.0, [{"CPU": 1.0}] * 2),
        (Workers(4), 2.0, [{"CPU": 0.5}] * 4),
        (Workers(3), 2.0, [{"CPU": 0.66}] * 3),
        (Workers(2, cpus_each=8), 2.0, [{"CPU": 8.0}] * 2),
        (Workers(2, gpus_each=1), 8.0, [{"CPU": 1.0, "GPU": 1.0}] * 2),
    ],
)
def test_ray_reserves_what_workers_ask_for(workers, total_cpus, bundles):
    assert bundles_for(list_members(workers, "all-reduce"), workers, total_cpus) == bundles


def test_servers_and_evaluators_get_no_gpus():
    workers = Workers(2, ps=1, evaluator=True, gpus_each=1)
    found = bundles_for(list_members(workers, "estimator"), workers, 8.0)
    assert ["GPU" in bundle for bundle in found] == [True, True, False, False]


def test_a_node_is_shared_by_the_members_on_it(monkeypatch):
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    assert share_node(Workers(2), 4, ["5"]) == {
        "TF_NUM_INTRAOP_THREADS": "4",
        "CUDA_VISIBLE_DEVICES": "5",
    }
    assert share_node(Workers(2, cpus_each=3), 0, [])["TF_NUM_INTRAOP_THREADS"] == "3"


def test_every_worker_listens_at_the_address_of_its_node():
    task = Task(pipeline_name="p", run_id="r", node_id="n", execution_id=1, executor="stoker.x:X")
    with pytest.raises(ValueError, match=r"bind='10\.0\.0\.5'.*for one machine"):
        OnRay().launch(replace(task, workers=Workers(2, bind="10.0.0.5")), None)


@pytest.mark.slow
def test_an_address_where_no_ray_is_is_told_at_once():
    (address,) = find_free_addresses(1)
    with (
        pytest.raises(StokerError, match=rf"Cannot reach Ray at {address}: .*refused"),
        connect(address),
    ):
        pass


def test_a_program_that_had_a_ray_of_its_own_cannot_join_another():
    ray_session._token()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
        with pytest.raises(StokerError, match="started a Ray of its own"), connect(address):
            pass


@pytest.fixture(scope="module")
def ray():
    """A Ray of our own, kept for all tests here."""
    with connect(None):
        import ray

        yield ray


@pytest.fixture
def group(tmp_path, monkeypatch, ray):
    return WorkerGroup(tmp_path, monkeypatch, OnRay())


slow = pytest.mark.slow
proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")


@slow
@proc
def test_a_worker_group_runs_where_its_code_is_not_and_the_runner_sees_what_it_does(
    group, monkeypatch, capfd
):
    def pack_and_remove(task):
        code = pack(task)
        if (group.folder / "neighbour").exists():
            shutil.rmtree(group.folder / "neighbour")
            os.unlink(group.folder / "module.py")
        return code

    (group.folder / "neighbour").mkdir()
    (group.folder / "neighbour" / "__init__.py").write_text("WORD = 'good morning'")
    monkeypatch.setattr(on_ray, "pack", pack_and_remove)
    outputs = group.train("from neighbour import WORD\nprint(me, WORD, flush=True)", check=False)
    assert group.starts() == ["chief-0.0", "worker-0.0"]
    assert Path(outputs["model"][0].uri, "Format-Serving", "model.txt").read_text() == "chief-0"
    logs = Path(outputs["model_run"][0].uri, "workers")
    assert "worker-0 good morning" in (logs / "worker-0.log").read_text()
    shown = capfd.readouterr().out
    assert "chief-0 good morning" in shown
    assert "worker-0 good morning" not in shown


@slow
@proc
def test_our_own_ray_listens_on_loopback_only(ray):
    sockets = set().union(*map(_open_files, _descendants(os.getpid())))
    listening = [
        fields[1].rpartition(":")[0]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets
    ]
    assert len(listening) > 3
    assert {address[-8:] for address in listening} <= {"0100007F", "01000000"}


def _descendants(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)


@slow
@proc
def test_a_process_that_is_stopped_on_a_node_is_found_by_its_silence(group, capfd):
    group.train(
        'if me == "worker-0" and not attempt: os.kill(os.getpid(), signal.SIGSTOP)\n'
        "if not attempt: time.sleep(60)"
    )
    assert group.starts() == ["chief-0.0", "chief-0.1", "worker-0.0", "worker-0.1"]
    assert "no sign of life" in capfd.readouterr().err


@slow
@proc
def test_an_error_tells_who_it_was_and_on_which_node(group, capfd):
    with pytest.raises(StepFailed, match=r"worker-0 \(process \d+ on node 127.0.0.1\): no luck"):
        group.train('if me == "worker-0": raise ValueError("no luck")\ntime.sleep(60)')
    assert 'raise ValueError("no luck")' in capfd.readouterr().err


@slow
@proc
def test_ctrl_c_stops_everyone_on_ray(group):
    group.press_ctrl_c_when_up()
    with pytest.raises(KeyboardInterrupt):
        group.train("time.sleep(60)")


@slow
def test_what_the_cluster_has_no_room_for_is_refused_with_what_it_has(group):
    group.launcher = OnRay(wait_seconds=2)
    with pytest.raises(StepFailed, match=r"2 processes with 2000 CPU; the whole cluster has"):
        group.train("pass", Workers(2, cpus_each=1000))


def _open_files(pid):
    """What a process has open; nothing, if it has just ended."""
    found = set()
    with contextlib.suppress(FileNotFoundError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


@slow
def test_a_step_that_gives_a_value_runs_on_a_node(tmp_path, ray):
    pipeline = Pipeline("values", str(tmp_path), components=[say_where()])
    (value,) = LocalDagRunner(OnRay()).run(pipeline).outputs["say_where"]["pid"]
    assert int(Path(value.uri).read_text()) != os.getpid()
