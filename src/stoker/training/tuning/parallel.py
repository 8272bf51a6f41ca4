# SPDX-License-Identifier: Apache-2.0
"""A search whose trials run in several processes, through KerasTuner's own distributed oracle.

    this process: tuner_fn, oracle ◀──gRPC, loopback──▶ worker-1: tuner_fn, trials
         │                         ◀──────────────────▶ worker-2: tuner_fn, trials
         └──▶ fork server: forks the workers, tells when one ends

The workers ask the oracle for trials until it has none left. The trial of a worker that dies goes
back to the oracle, which tries it again or counts it as failed, and another worker takes over.
"""

import contextlib
import functools
import itertools
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from stoker.any_python.forking import ForkServer, ProcessDied, ProcessRaised, num_cpus
from stoker.any_python.launcher_link import set_sink
from stoker.any_python.lines import say
from stoker.errors import StepFailed
from stoker.patches.keras_tuner import keep_state_whole, never_overwrite
from stoker.training import watch
from stoker.training.tuning.search import (
    SearchJob,
    Watched,
    make_tuner,
)

_LOOPBACK = "127.0.0.1"
_IDLE_SECONDS = 0.05


def search_in_parallel(job: SearchJob, num_workers: int) -> Watched:
    """Run the trials in `num_workers` processes; TensorFlow must not have run an op in this one."""
    shutil.rmtree(job.errors_dir, ignore_errors=True)  # of an earlier attempt
    os.makedirs(job.errors_dir)
    with ForkServer(functools.partial(_work, job=job, num_workers=num_workers)) as server:
        tuner, fit_kwargs = make_tuner(job)
        watched = Watched(tuner, job, quiet="verbose" not in fit_kwargs)
        with keep_state_whole(), _serve(tuner.oracle) as port:
            tuner.save()  # what a later attempt looks for
            _see_workers_through(watched, server, num_workers, port)
    return watched


def _see_workers_through(watched: Watched, server: ForkServer, num_workers: int, port: int) -> None:
    oracle = watched.tuner.oracle
    names = (f"worker-{number}" for number in itertools.count(1))
    running = set(itertools.islice(names, num_workers))
    for name in sorted(running):
        server.start(name, port)
    has_ended = False
    while running:
        name, reason = _wait(server)
        running.remove(name)
        if reason is None:
            has_ended = True  # the oracle had no more trials for it
        elif isinstance(reason, ProcessRaised):
            say(reason.traceback.rstrip(), error=True)
            raise StepFailed(reason.traceback.strip().rpartition("\n")[2])
        elif name in oracle.tuner_ids:
            _give_back(watched, name, reason)
            running.add(successor := next(names))
            server.start(successor, port)
    if not has_ended:
        raise StepFailed(
            "Every process that ran trials died before it had asked for one. The system may have "
            "run out of memory: try fewer with TuneArgs(num_parallel_trials=…)."
        )


def _wait(server: ForkServer) -> tuple[str, ProcessDied | ProcessRaised | None]:
    try:
        return server.wait()
    except ProcessDied:
        raise StepFailed(
            "The process that starts the workers of the search was killed. The system may "
            "have run out of memory."
            " Try fewer with TuneArgs(num_parallel_trials=…)."
        ) from None


def _give_back(watched: Watched, name: str, death: ProcessDied) -> None:
    """End the trial of a worker that died."""
    from keras_tuner.engine.trial import TrialStatus

    words = f"The process that ran the trial died ({death})."
    say(f"{name}: {words}", error=True)
    if trial := watched.tuner.oracle.ongoing_trials.get(name):
        trial.status, trial.message = TrialStatus.INVALID, words
        watched.end_trial(trial)


@contextlib.contextmanager
def _serve(oracle: Any) -> Iterator[int]:
    """Serve the oracle on a free port of this machine's loopback; gives the port."""
    import grpc
    from keras_tuner.src import protos
    from keras_tuner.src.distribute.oracle_chief import OracleServicer

    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    protos.get_service_grpc().add_OracleServicer_to_server(OracleServicer(oracle), server)
    port: int = server.add_insecure_port(f"{_LOOPBACK}:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(grace=None).wait()


def _work(_: Connection, name: str, port: int, *, job: SearchJob, num_workers: int) -> None:
    """The life of a worker: it runs trials until the oracle has no more."""
    set_sink(None)  # one process of a step reports
    os.environ |= {
        "KERASTUNER_ORACLE_IP": _LOOPBACK,
        "KERASTUNER_ORACLE_PORT": str(port),
        "KERASTUNER_TUNER_ID": name,
        "no_grpc_proxy": _LOOPBACK,
    }
    num_threads = max(1, num_cpus() // num_workers)
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(num_threads))
    with keep_state_whole(), never_overwrite():
        tuner, fit_kwargs = make_tuner(job)
        _leave_errors(tuner.oracle, job)
        with watch(job.fn_args):  # in place of Keras's own bars, which would run into another
            tuner.search(**fit_kwargs)


def _leave_errors(oracle: Any, job: SearchJob) -> None:
    """Stand before a worker's oracle: it carries no tracebacks, and asks again without a pause."""
    create, end = oracle.create_trial, oracle.end_trial

    def create_trial(tuner_id: str) -> Any:
        trial = create(tuner_id)
        if trial.status == "IDLE":
            time.sleep(_IDLE_SECONDS)
        return trial

    def end_trial(trial: Any) -> None:
        if trial.message:
            path = os.path.join(job.errors_dir, f"{trial.trial_id}.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(trial.message)
        end(trial)

    oracle.create_trial, oracle.end_trial = create_trial, end_trial
