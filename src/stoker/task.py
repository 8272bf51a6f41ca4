# SPDX-License-Identifier: Apache-2.0
"""What crosses the border between the runner and a worker: a Task goes in, an Outcome comes out.

Both are plain JSON, so that the same Task runs in this process, in a child process, in another
interpreter, or on another machine.
"""

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, Literal, Self

from stoker.artifacts import Artifact, ArtifactMap, artifact_class

Cluster = Literal["all-reduce", "servers", "estimator", "own"]
"""How the processes of a worker group work together: MultiWorkerMirroredStrategy,
ParameterServerStrategy, an Estimator, or whatever the user's code makes of TF_CONFIG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessNeeds:
    """What a worker's process has to be before the first line of user code runs in it."""

    tensorflow: bool = False
    keras: Literal[2, 3] | None = None
    reason: str = ""
    preload: tuple[str, ...] = ()
    python: str | None = None
    """The path of another interpreter, where the user's code runs; None for this one."""
    estimators: bool = False
    """Whether the user's code names Estimators, which TensorFlow has no longer."""

    shards: bool = False
    """Whether it works on shards, which it may do on all nodes of a cluster."""

    cluster: Cluster | None = None
    """What several processes of this step are to each other; None where there is only one."""

    def __post_init__(self) -> None:
        if self.keras not in (None, 2, 3):
            raise ValueError(f"keras must be 2 or 3, got {self.keras!r}.")

    def in_this_python(self) -> Self:
        """What our own part of a step needs, such as the model check: this interpreter."""
        return replace(self, python=None)


@dataclass(frozen=True, slots=True)
class Workers:
    """How many processes train one model, and what each may use.

    `count` are those that train: with ParameterServerStrategy a chief that coordinates them comes
    on top. `ps` are parameter servers, `evaluator` is a process of Estimators' own. `cpus_each`
    is an equal share of the machine if it is not given. Whoever has joined the others waits
    `join_seconds` for the last one. `bind` is the address that they listen at: without it, loopback
    on one machine, and each node's own on several; "0.0.0.0" is every address there is.
    """

    count: int = 1
    _: KW_ONLY
    ps: int = 0
    evaluator: bool = False
    gpus_each: int = 0
    cpus_each: int | None = None
    join_seconds: float = 60.0
    bind: str | None = None

    def __post_init__(self) -> None:
        least = {"count": 1, "ps": 0, "gpus_each": 0, "cpus_each": 1}
        for name, number in least.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < number):
                raise ValueError(
                    f"Workers({name}=…) takes a whole number from {number} on, got {value!r}."
                )
        if self.join_seconds <= 0:
            raise ValueError(f"Workers(join_seconds=…) must be over 0, got {self.join_seconds!r}.")
        if self.bind is not None:
            try:
                ipaddress.IPv4Address(self.bind)
            except ValueError:
                raise ValueError(
                    "Workers(bind=…) takes an address of this machine, such as '127.0.0.1', or "
                    f"'0.0.0.0' for all of them, got {self.bind!r}."
                ) from None

    @property
    def binds_everywhere(self) -> bool:
        """Whether they are to listen on every network interface."""
        return self.bind == "0.0.0.0"

    @property
    def host(self) -> str:
        """Where they find each other on one machine."""
        return "127.0.0.1" if self.bind is None or self.binds_everywhere else self.bind

    @property
    def is_group(self) -> bool:
        """Whether there is more than one process."""
        return self.count > 1 or self.ps > 0 or self.evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of a worker group, as the process itself is told."""

    role: Literal["chief", "worker", "ps", "evaluator"]
    index: int = 0
    serves: bool = False
    """Whether it runs a server of TensorFlow's instead of the user's code."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What is set in its environment: TF_CONFIG, and what it may use of the machine."""
    address: str = ""
    """`host:port`, where the others find it."""
    binds_everywhere: bool = False
    """Whether it listens on every network interface, and not at that host alone."""

    @property
    def host(self) -> str:
        """The machine's address at which the others find it."""
        return self.address.rpartition(":")[0]

    @property
    def name(self) -> str:
        """Its name in messages, and that of its log."""
        return f"{self.role}-{self.index}"


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
    user_file: str | None = None
    """The user's own file that it loads."""
    inputs: ArtifactMap = field(default_factory=dict)
    outputs: ArtifactMap = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    artifact_classes: Mapping[str, str] = field(default_factory=dict)
    """The users' own artifact types: type name to where its class is, written as for `executor`."""
    message_classes: Mapping[str, str] = field(default_factory=dict)
    """The parameters that its executor takes as messages, and where their classes are."""
    root_dir: str = ""
    """The pipeline root, as a path of the machine that the task runs on."""
    tmp_dir: str = ""
    temporary_dir: str = ""
    """Where its process makes temporary files: its TMPDIR."""
    checkpoint_dir: str = ""
    """Where it finds how far an earlier attempt was, and leaves how far it is itself."""
    columns_dir: str = ""
    """Where columns of examples are kept that came without."""
    log_file: str = ""
    beam_pipeline_args: tuple[str, ...] = ()
    import_paths: tuple[str, ...] = ()
    observed_dir: str = ""
    """Where it notes what its code reads besides; empty for code that is not the user's."""
    given: Mapping[str, str] = field(default_factory=dict)
    """What there is to be read besides, as notes have it: flags, variables, the command line."""
    not_users: tuple[str, ...] = ()
    """Folders whose files are not the user's, wherever they lie: the pipeline root is one."""
    moved_to: str = ""
    """The folder in which the user's files are below their paths at home; empty at home."""
    away: Mapping[str, Any] | None = None
    """What a machine needs to know that shares no folder with this one: `launchers/visiting.py`."""
    cluster_address: str = ""
    """Where its executor finds the cluster for its shards; empty where there is none."""
    argv: tuple[str, ...] = ()
    flags: Mapping[str, Sequence[str]] | None = None
    """The program's absl flags: by name, the arguments that set it; None if it uses none."""
    needs: ProcessNeeds = field(default_factory=ProcessNeeds)
    workers: Workers | None = None
    """The processes that are to do this together; None for one that does it alone."""
    retries: int | None = None
    """How often to start again after a failure; None is once for workers that were lost."""
    timeout_seconds: float | None = None
    """How long each attempt may take; None for any time."""
    member: Member | None = None
    """Which of these processes the task is for."""

    @property
    def needs_worker_group(self) -> bool:
        """Whether it is for several processes, or for one that may be ended or start again."""
        return self.has_workers or bool(self.retries) or self.timeout_seconds is not None

    @property
    def has_workers(self) -> bool:
        """Whether several processes do it together."""
        return bool(self.workers and self.workers.is_group)

    def to_json(self) -> str:
        """This task as one line of JSON."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["inputs"] = _artifacts_to_json(self.inputs)
        record["outputs"] = _artifacts_to_json(self.outputs)
        for key in ("needs", "workers", "member"):
            record[key] = record[key] and asdict(record[key])
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The task that `to_json` wrote."""
        record = json.loads(text)
        needs = record["needs"]
        needs["preload"] = tuple(needs["preload"])
        record["needs"] = ProcessNeeds(**needs)
        for key, kind in (("workers", Workers), ("member", Member)):
            record[key] = record[key] and kind(**record[key])
        for key in ("inputs", "outputs"):
            record[key] = _artifacts_from_json(record[key])
        for key in ("beam_pipeline_args", "import_paths", "not_users", "argv"):
            record[key] = tuple(record[key])
        return cls(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended, and what its executor said about each output."""

    outputs: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The output artifacts as `Artifact.to_dict` gives them, with the properties that were set."""
    failure: Failure | None = None
    canceled: bool = False
    saved_step: int | None = None
    """The step that a training was saved at when it was canceled, if it was saved."""

    def to_json(self) -> str:
        """This outcome as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The outcome that `to_json` wrote."""
        record = json.loads(text)
        if record["failure"]:
            record["failure"] = Failure(**record["failure"])
        return cls(**record)


def _artifacts_to_json(artifacts: ArtifactMap) -> dict[str, list[dict[str, Any]]]:
    return {key: [artifact.to_dict() for artifact in found] for key, found in artifacts.items()}


def _artifacts_from_json(
    record: Mapping[str, list[dict[str, Any]]],
) -> dict[str, list[Artifact]]:
    return {
        key: [artifact_class(one["type"]).from_dict(one) for one in many]
        for key, many in record.items()
    }
