# SPDX-License-Identifier: Apache-2.0
"""The Ray that `on_ray` uses: a cluster that is there, or one of our own that ends with the run.

One of our own listens on loopback only, asks for a token that is made for it, has no dashboard and
tells nobody that it is used.
"""

import contextlib
import functools
import importlib
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

from stoker.errors import MissingPart, StokerError
from stoker.metadata.config import STORE_VARIABLE
from stoker.patches.ray import stay_on_loopback

_ANSWER_SECONDS = 10.0
_LOOPBACK = "127.0.0.1"
_OBJECT_STORE_BYTES = 100 << 20  # what passes through it are tasks, reports and lines of logs
_PASSED_ON = ("KERAS_", "STOKER_", "TF_", "XLA_")
_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def load_ray() -> Any:
    """The package `ray`, which is not for those who do not use it."""
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingPart(
            "OnRay needs ray, which is not installed: pip install 'stoker[ray]'.", name="ray"
        ) from error


def list_nodes() -> list[Any]:
    """The nodes of the cluster that have processors, as Ray describes them."""
    nodes: list[Any] = load_ray().nodes()
    return [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) > 0]


def list_variables() -> dict[str, str]:
    """What processes on other nodes are to find in their environment, as it is here."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_PASSED_ON) and name != STORE_VARIABLE
    }


@contextlib.contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Inside, this process is connected to Ray: at an address, else at RAY_ADDRESS, else our own.

    A program that has connected itself stays connected to where it is.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")
    with contextlib.ExitStack() as stack:
        if not address:
            stack.enter_context(_set_own_token())
        stack.callback(ray.shutdown)
        with _keep_signals():
            if address:
                _join(ray, address)
            else:
                _start(ray)
        yield


def _join(ray: Any, address: str) -> None:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        if port.isdigit():  # Ray itself would look for it for minutes
            socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
        _check_token(address)
        ray.init(address=address, **_QUIET)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise StokerError(
            f"Cannot reach Ray at {address}: {str(error).rstrip('.')}. Run on a machine of the "
            "cluster, check the address, and, where it asks for a token, RAY_AUTH_MODE=token and "
            "RAY_AUTH_TOKEN."
        ) from error


def _check_token(address: str) -> None:
    """Refuse another cluster where Ray would go on using the token of our own."""
    if _token.cache_info().currsize and os.environ.get("RAY_AUTH_TOKEN") != _token():
        raise StokerError(
            f"Cannot join Ray at {address}: this program has started a Ray of its own before, and "
            "Ray keeps the token of that one as long as the program runs. Join it in a new program."
        )


def _start(ray: Any) -> None:
    with stay_on_loopback():
        ray.init(
            address="local",
            _node_ip_address=_LOOPBACK,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            **_QUIET,
        )
    at = ray.util.get_node_ip_address()
    if at != _LOOPBACK:
        raise StokerError(
            f"This version of Ray ({ray.__version__}) listens at {at}, where other machines may "
            "reach it, and not on loopback alone. Start Ray yourself, and say where it is: "
            "OnRay(address=…)."
        )


@functools.cache
def _token() -> str:
    """One for all clusters of this process: Ray reads it once."""
    return secrets.token_hex(32)


@contextlib.contextmanager
def _set_own_token() -> Iterator[None]:
    """Inside, Ray's processes find a token, and are not counted; what the user has set wins.

    That a cluster asks for its token is what Ray itself decides, and sets, from 2.60 on.
    """
    ours = {"RAY_AUTH_TOKEN": _token(), "RAY_USAGE_STATS_ENABLED": "0"}
    names = {"RAY_AUTH_MODE", *ours}
    users = {name: os.environ[name] for name in names & set(os.environ)}
    os.environ.update({**ours, **users})
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(users)


@contextlib.contextmanager
def _keep_signals() -> Iterator[None]:
    """Ray would end the program at SIGTERM, without a chance to save or to record anything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
