# SPDX-License-Identifier: Apache-2.0
"""What each process of a worker group gets of this machine: an address, processors and GPUs."""

import contextlib
import glob
import os
import random
import socket
from collections.abc import Mapping, Sequence

from stoker.any_python.forking import num_cpus
from stoker.task import Member, Workers

_THREADS = "TF_NUM_INTRAOP_THREADS"
_GPUS = "CUDA_VISIBLE_DEVICES"
_LISTENING = "0A"
"""A socket's state, as Linux writes it."""
_GIVEN_OUT = "/proc/sys/net/ipv4/ip_local_port_range"
_FIRST_PORT, _TRIES = 10_000, 50


def find_free_addresses(num: int, host: str = "127.0.0.1") -> list[str]:
    """Addresses of this machine that nobody listens at."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(hold_free_port(host)) for _ in range(num)]
        return ["{}:{}".format(*one.getsockname()) for one in held]


def hold_free_port(host: str) -> socket.socket:
    """A socket at a port that nobody else has, nor is given until a server is up there.

    That takes seconds, in which an outgoing connection of any program may be given a port of the
    system's own choice: so it is one below those.
    """
    held = socket.socket()
    for port in [*random.sample(_own_ports(), _TRIES), 0]:
        with contextlib.suppress(OSError):
            held.bind((host, port))
            return held
    held.close()
    raise OSError(f"No port of {host} is free: end programs that listen there.")


def _own_ports() -> range:
    first_given_out = 32_768
    with contextlib.suppress(FileNotFoundError), open(_GIVEN_OUT, encoding="ascii") as file:
        first_given_out = int(file.read().split()[0])
    return range(_FIRST_PORT, max(first_given_out, _FIRST_PORT + _TRIES))


def listens_everywhere(port: int) -> bool | None:
    """Whether somebody listens at a port on every network interface; None if nobody listens.

    Where the system does not tell, it is taken for so: servers of TensorFlow's do, left alone.
    """
    found = None if os.path.exists("/proc/net/tcp") else True
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as file:
            for line in file:
                _, local, _, state, *_ = line.split()
                address, _, number = local.partition(":")
                if state == _LISTENING and int(number, 16) == port:
                    found = found or not address.strip("0")
    return found


def share_resources(members: Sequence[Member], workers: Workers) -> list[dict[str, str]]:
    """What is set in each member's environment for its part of the processors and GPUs.

    The user's own number of threads is left alone.
    """
    coordinates = any(member.role == "worker" and member.serves for member in members)
    training = [
        member
        for member in members
        if member.role == "worker" or (member.role == "chief" and not coordinates)
    ]
    check_gpus(workers)
    gpus = _split(_list_gpus(os.environ), workers)
    share = num_cpus() // workers.count
    return [
        share_node(workers, share, gpus[training.index(member)] if member in training else [])
        for member in members
    ]


def share_node(workers: Workers, num_cpus_left: int, gpus: Sequence[str]) -> dict[str, str]:
    """The variables of one member that has these GPUs, and so many processors unless it asks."""
    threads = workers.cpus_each or max(1, num_cpus_left)
    cpus = {} if _THREADS in os.environ else {_THREADS: str(threads)}
    return {**cpus, _GPUS: ",".join(gpus)}


def _list_gpus(environ: Mapping[str, str]) -> list[str]:
    """The GPUs that this process may use, by the names that CUDA knows them by."""
    if _GPUS in environ:
        return [name for name in environ[_GPUS].split(",") if name not in ("", "-1")]
    return [str(index) for index, _ in enumerate(glob.glob("/dev/nvidia[0-9]*"))]


def check_gpus(workers: Workers) -> None:
    """Raise ValueError if this machine has fewer GPUs than the workers ask for."""
    num_gpus = len(_list_gpus(os.environ))
    if workers.count * workers.gpus_each > num_gpus:
        raise ValueError(
            f"Workers({workers.count}, gpus_each={workers.gpus_each}) needs "
            f"{workers.count * workers.gpus_each} GPUs, and this machine has {num_gpus} to give. "
            "Ask for fewer, or leave gpus_each out to train on processors."
        )


def _split(gpus: Sequence[str], workers: Workers) -> list[Sequence[str]]:
    each = workers.gpus_each
    return [gpus[index * each : (index + 1) * each] for index in range(workers.count)]
