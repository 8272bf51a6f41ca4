# SPDX-License-Identifier: Apache-2.0
"""Where a search keeps its state: the same directory for the same work, so that it can go on.

<pipeline_root>/.stoker/tuning/<digest>/    what KerasTuner knows about the trials; a lock
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stoker.artifacts import Artifact
from stoker.storage.manifest import describe
from stoker.user_code.fingerprint import files_of
from stoker.user_code.imports import find_module

__all__ = ["digest_of", "working_dir_for"]

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
