# SPDX-License-Identifier: Apache-2.0
"""Where a search keeps its state: the same directory for the same work, so that it can go on.

<pipeline_root>/.stoker/tuning/<digest>/    what KerasTuner knows about the trials; a lock
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stoker.artifacts import Artifact
from stoker.manifest import describe
from stoker.user_module.fingerprint import files_of
from stoker.user_module.imports import find_module

__all__ = ["digest_of", "hold", "working_dir_for"]

_LOCK = "lock"
_PATIENCE_SECONDS = 1.0
_NOT_THE_WORK = ("module_file", "tune_args")
"""Where the code lies, and how many trials run at once, do not change what is searched for."""


def working_dir_for(output_uri: str, digest: str) -> str | None:
    """The directory for work with this digest; None outside of a pipeline's root.

    `output_uri` is `<root>/<node>/<key>/<execution id>`.
    """
    node_dir = os.path.dirname(os.path.dirname(os.path.abspath(output_uri)))
    root, node = os.path.split(node_dir)
    ours = os.path.join(root, ".stoker")
    return os.path.join(ours, "tuning", f"{node}-{digest}") if os.path.isdir(ours) else None


def digest_of(inputs: Mapping[str, Sequence[Artifact]], parameters: Mapping[str, Any]) -> str:
    """One digest for everything that a search depends on: code, parameters, inputs."""
    what = {
        "code": [_file_digest(path) for path in _code_files(parameters)],
        "parameters": {k: v for k, v in parameters.items() if k not in _NOT_THE_WORK},
        "inputs": {key: [_content(one) for one in many] for key, many in inputs.items()},
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]


@contextlib.contextmanager
def hold(directory: str | None, *, otherwise: str) -> Iterator[str]:
    """Hold a working directory for one search, and remove it when the search has ended.

    What stops the search by an error, or by force, leaves it for the next attempt. While another
    run holds it, or without one, the search gets the directory `otherwise`.
    """
    lock = None if directory is None else _lock(directory)
    if directory is None or lock is None:
        yield otherwise
        return
    try:
        yield directory
        shutil.rmtree(directory)
    finally:
        os.close(lock)


def _lock(directory: str) -> int | None:
    """The directory's lock, held; None if another process holds it, and goes on holding it.

    The processes of a search that was just killed need a moment to notice.
    """
    path = os.path.join(directory, _LOCK)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        os.makedirs(directory, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        except FileNotFoundError:  # another run has just removed the directory
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
            continue
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # it was removed after we opened it


def _code_files(parameters: Mapping[str, Any]) -> list[str]:
    module = str(parameters.get("tuner_fn") or "").rpartition(".")[0]
    file = parameters.get("module_file") or (module and find_module(module, sys.path))
    return files_of(file, sys.path) if file and os.path.isfile(file) else []


def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(artifact: Artifact) -> list[Any]:
    digest = artifact.custom_properties.get("content_digest") or describe(artifact.uri).digest
    return [artifact.type_name, digest, artifact.properties]
