# SPDX-License-Identifier: Apache-2.0
"""What a worker group is, without its processes: who is in it, who is late, who is to blame."""

import json
from types import SimpleNamespace

import pytest

from stoker.artifacts import Model, ModelRun
from stoker.launchers.resources import find_free_addresses, share_resources
from stoker.launchers.worker_group import (
    WORKER_LOST,
    FailureDecision,
    HeartbeatRecord,
    decide_after_failure,
    find_culprit,
    find_overdue,
    list_members,
    make_member_task,
    place_members,
)
from stoker.task import Failure, Member, Outcome, ProcessNeeds, Task, Workers

RESTART, RAISE = FailureDecision.RESTART, FailureDecision.RAISE


def names(workers, cluster):
    return [member.name for member in list_members(workers, cluster)]


def test_the_chief_is_one_of_those_that_train():
    assert names(Workers(3), "all-reduce") == ["chief-0", "worker-0", "worker-1"]


def test_with_parameter_servers_the_chief_coordinates_and_the_others_serve():
    members = list_members(Workers(2, ps=1), "servers")
    assert [member.name for member in members] == ["chief-0", "worker-0", "worker-1", "ps-0"]
    assert [member.serves for member in members] == [False, True, True, True]


def test_an_estimators_workers_run_its_code_and_its_evaluator_is_not_in_the_cluster():
    members = list_members(Workers(2, ps=1, evaluator=True), "estimator")
    assert [member.serves for member in members] == [False, False, True, False]
    slots = [SimpleNamespace(address=at, variables={}) for at in ("a:1", "b:2", "c:3", "d:4")]
    told = place_members(members, slots, Workers())
    configs = [json.loads(member.variables["TF_CONFIG"]) for member in told]
    assert configs[0]["cluster"] == {"chief": ["a:1"], "worker": ["b:2"], "ps": ["c:3"]}
    assert configs[3]["cluster"] == configs[0]["cluster"]
    assert configs[3]["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"ps": -1}, {"gpus_each": 0.5}, {"cpus_each": 0}, {"join_seconds": 0}]
)
def test_workers_that_make_no_sense_are_refused_with_the_value(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=rf"{name}.*got {value}"):
        Workers(**wrong)


def make_task(cluster="all-reduce"):
    model, run = Model(), ModelRun()
    model.uri, run.uri = "/pipeline/model/7", "/pipeline/model_run/7"
    return Task(
        pipeline_name="p",
        run_id="r",
        node_id="Trainer",
        execution_id=7,
        executor="a:b",
        outputs={"model": [model], "model_run": [run]},
        tmp_dir="/tmp/step",
        log_file="/pipeline/model_run/7/log.txt",
        needs=ProcessNeeds(cluster=cluster),
    )


def outputs_of(task):
    return {key: artifacts[0].uri for key, artifacts in task.outputs.items()}


def test_only_the_chief_writes_to_the_outputs():
    task = make_task()
    chief = make_member_task(task, Member(role="chief"), attempt=0)
    worker = make_member_task(task, Member(role="worker"), attempt=1)
    assert outputs_of(chief) == outputs_of(task)
    assert outputs_of(worker) == {
        "model": "/tmp/step/workers/worker-0-1/model",
        "model_run": "/tmp/step/workers/worker-0-1/model_run",
    }
    assert worker.log_file == "/pipeline/model_run/7/workers/worker-0.log"
    received = Task.from_json(worker.to_json())
    assert received.member == worker.member
    assert outputs_of(received) == outputs_of(worker)


def test_an_estimators_processes_meet_in_model_run():
    evaluator = make_member_task(make_task("estimator"), Member(role="evaluator"), attempt=0)
    assert outputs_of(evaluator)["model_run"] == "/pipeline/model_run/7"
    assert outputs_of(evaluator)["model"].startswith("/tmp/step")


def running(name, **seen):
    return HeartbeatRecord(
        name=name, joins=True, **{"up_at": 1.0, "heard_at": 99.0, "cpu_seconds": 1.0} | seen
    )


def test_whoever_keeps_the_others_waiting_is_named():
    heartbeats = [running("chief-0", joining_at=30.0), running("worker-0")]
    assert find_overdue(heartbeats, 89.0, join_seconds=60) is None
    late, why = find_overdue(heartbeats, 99.0, join_seconds=60)
    assert late.name == "worker-0"
    assert "join_seconds" in why


def test_one_that_ended_without_joining_is_late_too():
    heartbeats = [running("chief-0", joining_at=30.0), running("worker-0", outcome=Outcome())]
    late, why = find_overdue(heartbeats, 99.0, join_seconds=60)
    assert (late.name, why.split(",")[0]) == (
        "worker-0",
        "It ended without making the strategy that the others wait for",
    )


def test_nobody_is_late_once_all_have_joined():
    heartbeats = [running("chief-0", joined_at=30.0), running("worker-0", joined_at=31.0)]
    assert find_overdue(heartbeats, 100.0, join_seconds=60) is None


@pytest.mark.parametrize(("cpu_seconds", "patience"), [(1.0, 8.0), (None, 60.0)])
def test_a_process_without_a_sign_of_life_is_found(cpu_seconds, patience):
    heartbeat = running("worker-0", heard_at=20.0, joined_at=2.0, cpu_seconds=cpu_seconds)
    assert find_overdue([heartbeat], 20.0 + patience, join_seconds=60) is None
    assert find_overdue([heartbeat], 20.1 + patience, join_seconds=60)[0] is heartbeat


def test_a_process_that_never_comes_up_is_found():
    heartbeat = HeartbeatRecord(name="worker-0", started_at=5.0, heard_at=5.0)
    assert find_overdue([heartbeat], 305.0, join_seconds=60) is None
    assert "not started" in find_overdue([heartbeat], 305.1, join_seconds=60)[1]


def failed(name, kind, ended_at):
    failure = Failure(kind=kind, message="")
    return running(name, outcome=Outcome(failure=failure), ended_at=ended_at)


@pytest.mark.parametrize(
    ("heartbeats", "culprit"),
    [
        ([failed("a", "UnavailableError", 1.0), failed("b", WORKER_LOST, 2.0)], "b"),
        ([failed("a", "UnavailableError", 1.0), failed("b", "ValueError", 2.0)], "b"),
        ([failed("a", "AbortedError", 2.0), failed("b", "UnavailableError", 1.0)], "b"),
        ([failed("a", "UnavailableError", 1.0), running("b", heard_at=90.0)], "b"),
        ([failed("a", "UnavailableError", 1.0), running("b", heard_at=99.5)], "a"),
        ([failed("a", "ValueError", 1.0), running("b", heard_at=90.0)], "a"),
    ],
)
def test_the_failure_that_made_the_others_fail_is_to_blame(heartbeats, culprit):
    assert find_culprit(heartbeats, 100.0).name == culprit


@pytest.mark.parametrize(
    ("kind", "retries", "decisions"),
    [
        (WORKER_LOST, None, [RESTART, RAISE]),
        ("UnavailableError", None, [RESTART, RAISE]),
        ("ValueError", None, [RAISE, RAISE]),
        ("ValueError", 1, [RESTART, RAISE]),
        (WORKER_LOST, 0, [RAISE, RAISE]),
        (WORKER_LOST, 2, [RESTART, RESTART]),
    ],
)
def test_a_lost_process_is_worth_another_attempt_and_an_error_only_if_asked_for(
    kind, retries, decisions
):
    failure = Failure(kind=kind, message="")
    assert decisions == [
        decide_after_failure(failure, num_failures=num, retries=retries) for num in (1, 2)
    ]


def test_a_process_that_works_alone_is_started_again_only_if_asked_for():
    failure = Failure(kind=WORKER_LOST, message="")
    alone = {"num_failures": 1, "has_workers": False}
    assert decide_after_failure(failure, retries=None, **alone) is RAISE
    assert decide_after_failure(failure, retries=1, **alone) is RESTART


@pytest.mark.parametrize("wrong", ["everywhere", "", "::", "host:80", "10.0.0"])
def test_an_address_to_listen_at_is_checked(wrong):
    with pytest.raises(ValueError, match=r"bind=….*'0\.0\.0\.0' for all"):
        Workers(2, bind=wrong)


def test_addresses_are_of_this_machine_and_all_different():
    addresses = find_free_addresses(5)
    assert len(set(addresses)) == 5
    assert {address.partition(":")[0] for address in addresses} == {"127.0.0.1"}


def test_gpus_are_dealt_out_to_those_that_train(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4,5,6")
    workers = Workers(2, ps=1, gpus_each=2, cpus_each=1)
    dealt = share_resources(list_members(workers, "servers"), workers)
    assert [share["CUDA_VISIBLE_DEVICES"] for share in dealt] == ["", "3,4", "5,6", ""]
    assert {share["TF_NUM_INTRAOP_THREADS"] for share in dealt} == {"1"}


def test_more_gpus_than_there_are_are_refused(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    workers = Workers(2, gpus_each=1)
    with pytest.raises(ValueError, match="needs 2 GPUs, and this machine has 1"):
        share_resources(list_members(workers, "all-reduce"), workers)


def test_the_users_own_number_of_threads_is_left_alone(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    workers = Workers(2)
    assert all(
        "TF_NUM_INTRAOP_THREADS" not in share
        for share in share_resources(list_members(workers, "all-reduce"), workers)
    )
