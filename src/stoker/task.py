# SPDX-License-Identifier: Apache-2.0
"""What crosses the border between the runner and a worker: a Task goes in, an Outcome comes out.

Both are plain JSON, so that the same Task runs in this process, in a child process, in another
interpreter, or on another machine.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from stoker.artifacts import Artifact, artifact_class

__all__ = ["ArtifactMap", "Environment", "Failure", "Outcome", "Task", "every"]

ArtifactMap = Mapping[str, list[Artifact]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a worker's process has to be before the first line of user code runs in it."""

    tensorflow: bool = False
    keras: Literal[2, 3] | None = None
    reason: str = ""
    preload: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.keras not in (None, 2, 3):
            raise ValueError(f"keras must be 2 or 3, got {self.keras!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a task failed: the user's own traceback, and what to do about it."""

    kind: str
    message: str
    traceback: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One step, ready to run: typed artifacts in, an executor, typed artifacts out."""

    pipeline_name: str
    run_id: str
    node_id: str
    execution_id: int
    executor: str
    """`package.module:Name`, or `/path/of/file.py:Name` for what a pipeline file defines."""
    inputs: ArtifactMap = field(default_factory=dict)
    outputs: ArtifactMap = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    artifact_classes: Mapping[str, str] = field(default_factory=dict)
    """The users' own artifact types: type name to where its class is, written as for `executor`."""
    tmp_dir: str = ""
    log_file: str = ""
    beam_pipeline_args: tuple[str, ...] = ()
    import_paths: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    flags: Mapping[str, Sequence[str]] | None = None
    """The program's absl flags: by name, the arguments that set it; None if it uses none."""
    environment: Environment = field(default_factory=Environment)

    def to_json(self) -> str:
        """This task as one line of JSON."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["inputs"] = _artifacts_to_json(self.inputs)
        record["outputs"] = _artifacts_to_json(self.outputs)
        record["environment"] = {
            name: getattr(self.environment, name) for name in Environment.__dataclass_fields__
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str, classes: Mapping[str, type[Artifact]] | None = None) -> Self:
        """The task that `to_json` wrote; `classes` are the users' own artifact classes by type."""
        record = json.loads(text)
        environment = record["environment"]
        environment["preload"] = tuple(environment["preload"])
        record["environment"] = Environment(**environment)
        for key in ("inputs", "outputs"):
            record[key] = _artifacts_from_json(record[key], classes or {})
        for key in ("beam_pipeline_args", "import_paths", "argv"):
            record[key] = tuple(record[key])
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended, and what its executor said about each output."""

    outputs: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The output artifacts as `Artifact.to_dict` gives them, with the properties that were set."""
    failure: Failure | None = None
    canceled: bool = False
    loaded_files: Sequence[str] = ()
    """The user's own files that were loaded, known only now."""

    def to_json(self) -> str:
        """This outcome as one line of JSON."""
        failure = self.failure and {
            name: getattr(self.failure, name) for name in Failure.__dataclass_fields__
        }
        return json.dumps(
            {
                "outputs": self.outputs,
                "failure": failure,
                "canceled": self.canceled,
                "loaded_files": list(self.loaded_files),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The outcome that `to_json` wrote."""
        record = json.loads(text)
        if record["failure"]:
            record["failure"] = Failure(**record["failure"])
        return cls(**record)


def every(artifacts: ArtifactMap) -> Iterator[Artifact]:
    """All artifacts under all keys."""
    return (artifact for many in artifacts.values() for artifact in many)


def _artifacts_to_json(artifacts: ArtifactMap) -> dict[str, list[dict[str, Any]]]:
    return {key: [artifact.to_dict() for artifact in found] for key, found in artifacts.items()}


def _artifacts_from_json(
    record: Mapping[str, list[dict[str, Any]]], classes: Mapping[str, type[Artifact]]
) -> dict[str, list[Artifact]]:
    return {
        key: [
            (classes.get(one["type"]) or artifact_class(one["type"])).from_dict(one) for one in many
        ]
        for key, many in record.items()
    }
