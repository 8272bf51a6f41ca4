# SPDX-License-Identifier: Apache-2.0
"""What a process of a worker group is, before and beside the user's code.

It finds TF_CONFIG in its environment, and sends heartbeats to whoever started the group:

    up         the user's code is about to run
    joining    it waits for the other processes
    joined     they have found each other
    beat       now and then, as long as it is not stopped
"""

import json
import os
import threading
import time
from typing import Any

from stoker.any_python.launcher_link import report
from stoker.launchers.resources import listens_everywhere
from stoker.task import Member, ProcessNeeds

HEARTBEAT = "heartbeat"
BEAT_SECONDS = 1.0
WORKER_LOST = "WorkerLost"
"""The kind of failure of a process that ended, or is not heard of, without saying why."""


def join_worker_group(member: Member, needs: ProcessNeeds) -> None:
    """Make this process a member; a server stays here until it is killed."""
    os.environ.update(member.variables)
    if not member.binds_everywhere:
        from stoker.patches.tensorflow import listen_only_at

        listen_only_at(member.host)
    threading.Thread(target=_beat, args=[member], daemon=True).start()
    _send("up")
    if member.serves:
        _serve()
    if needs.cluster == "all-reduce":
        _report_joining(needs)


def _send(phase: str) -> None:
    report({"kind": HEARTBEAT, "phase": phase})


def _beat(member: Member) -> None:
    looks = member.role == "chief"  # only the chief's warnings reach the user
    while True:
        time.sleep(BEAT_SECONDS)
        _send("beat")
        looks = looks and not _look_at_ports(member)


def _look_at_ports(member: Member) -> bool:
    """Warn if TensorFlow's servers listen on every network interface; False if none listens yet.

    It is looked at, because what they are told is not always what they do.
    """
    cluster: dict[str, list[str]] = json.loads(member.variables["TF_CONFIG"])["cluster"]
    found = [address.rpartition(":") for many in cluster.values() for address in many]
    ports = [int(port) for host, _, port in found if host == member.host]
    open_ports = {port: listens_everywhere(port) for port in ports}
    if any(open_ports.values()):
        text = (
            "TensorFlow's servers listen on every network interface, and ask for no password. "
            f"Keep the ports {', '.join(map(str, ports))} closed to other machines."
        )
        report({"kind": "warning", "text": text})
    return any(is_open is not None for is_open in open_ports.values())


def _serve() -> None:
    """Offer this process to the chief's ParameterServerStrategy, or to an Estimator."""
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
    )
    _send("joined")
    server.join()


def _report_joining(needs: ProcessNeeds) -> None:
    """Say when the user's code makes its strategy: that is where processes wait for each other."""
    from stoker.patches.keras import check_workers, enable_workers
    from stoker.patches.tensorflow import call_around_joining

    if needs.keras == 3:
        enable_workers()

    def report_joined(strategy: Any) -> None:
        _send("joined")
        if needs.keras == 3:
            check_workers(strategy)

    call_around_joining(lambda: _send("joining"), report_joined)
