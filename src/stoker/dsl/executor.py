# SPDX-License-Identifier: Apache-2.0
"""Executors: the part of a step that runs in a worker, and how a component names it."""

import abc
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from stoker.any_python.launcher_link import report_doing
from stoker.artifacts import Artifact, ArtifactMap
from stoker.dsl.cells import file_of_cells
from stoker.dsl.pool import LocalPool, Pool
from stoker.dsl.refusals import Declared
from stoker.errors import MissingPart

__all__ = [
    "Artifacts",
    "BaseBeamExecutor",
    "BaseExecutor",
    "BeamExecutorSpec",
    "ExecutorClassSpec",
    "ExecutorSpec",
    "parse_message",
    "reference_to",
]

Artifacts = dict[str, list[Artifact]]
"""What `Do` is given, and may change: artifacts by the key of an input or output."""
OpenCluster = Callable[[], contextlib.AbstractContextManager[Pool]]
_M = TypeVar("_M", bound=Message)


def parse_message(given: Any, message: _M) -> _M:
    """A parameter that is a message: JSON text, which is how it travels, or empty, or itself."""
    return given if isinstance(given, type(message)) else json_format.Parse(given or "{}", message)


class BaseExecutor(abc.ABC):
    """What a step does. Subclasses define `Do`; a worker makes one instance and calls it once."""

    class Context:
        """Where an executor may write besides its outputs, and how it should run Beam."""

        node_id: str = ""
        open_cluster: OpenCluster | None = None
        """Opens the pool of a cluster, if the launcher has one."""
        checkpoint_dir: str | None = None
        columns_dir: str | None = None

        def __init__(
            self,
            beam_pipeline_args: list[str] | None = None,
            tmp_dir: str | None = None,
            unique_id: str | None = None,
            **extra: Any,
        ) -> None:
            self.beam_pipeline_args = beam_pipeline_args or []
            self.unique_id = unique_id
            self._tmp_dir = tmp_dir
            for name, value in extra.items():
                setattr(self, name, value)

        def get_tmp_path(self) -> str:
            """A directory of this execution's own, for files that nobody needs afterwards."""
            root = self._tmp_dir or tempfile.mkdtemp(prefix="stoker-")
            self._tmp_dir = root
            path = os.path.join(root, str(self.unique_id or ""), "")
            os.makedirs(path, exist_ok=True)
            return path

        def open_pool(
            self, num_shards: int, num_processes: int = 1
        ) -> contextlib.AbstractContextManager[Pool]:
            """Where to work on so many shards: on the cluster, or in so many processes here."""
            if self.open_cluster and num_shards > 1:
                return self.open_cluster()
            return LocalPool(min(num_processes, max(1, num_shards)))

    def __init__(self, context: Context | None = None) -> None:
        self._context = context or self.Context()
        self._beam_pipeline_args = list(self._context.beam_pipeline_args or ())

    @abc.abstractmethod
    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Read the inputs and write the outputs."""

    def _get_tmp_dir(self) -> str:
        return self._context.get_tmp_path()

    def _log_startup(self, *_: Any) -> None:
        """Do nothing: TFX's executors call this first, but here the runner reports for all."""
        return

    def _make_beam_pipeline(self) -> Any:
        """An Apache Beam pipeline with the flags of the pipeline, or of the step."""
        from stoker.dsl.beam import make_pipeline

        report_doing("running on Apache Beam")
        return make_pipeline(self._beam_pipeline_args)


class BaseDriver:
    """What prepares a step, before its executor runs; here the runner does most of that."""

    @classmethod
    def drive(cls, parameters: Mapping[str, Any], outputs: ArtifactMap) -> Mapping[str, Any]:  # noqa: ARG003
        """The parameters that the executor is given; outputs may be told something as well."""
        return parameters


class BaseBeamExecutor(BaseExecutor):
    """An executor that runs an Apache Beam pipeline; in TFX's first years any executor could."""


@dataclass(frozen=True)
class ExecutorClassSpec(metaclass=Declared):
    """Names the class of an executor, or a function, or says where it is: `package.module:Class`.

    Where it is, is looked up when the step runs: a cell of a notebook may have been run again.
    """

    executor_class: type[BaseExecutor] | Callable[..., Any] | str

    def __post_init__(self) -> None:
        if reason := getattr(self.executor_class, "MISSING_PART", ""):
            raise MissingPart(reason)

    @property
    def class_path(self) -> str:
        """Where the class is, as a worker looks it up."""
        cls = self.executor_class
        return cls if isinstance(cls, str) else reference_to(cls)

    def make_parameters(self, spec: Any) -> dict[str, Any]:  # noqa: ARG002
        """What the executor is told besides the parameters of its component."""
        return {}

    def find_lacks(self) -> Iterable[Any]:
        """What this machine lacks that the executor needs, whatever the component is."""
        return ()


class BeamExecutorSpec(ExecutorClassSpec):
    """Names the class of an executor that runs Beam."""


ExecutorSpec = ExecutorClassSpec


def reference_to(thing: Any) -> str:
    """Where a class or function is, so that another process can load it.

    `package.module:Name`; for what the pipeline file itself defines `/path/of/pipeline.py:Name`,
    because that file is `__main__` here and must not be `__main__` there. What the cells of a
    notebook define is written to such a file.
    """
    module, name = thing.__module__, thing.__qualname__
    if "<locals>" in name:
        raise ValueError(
            f"{module}.{name} is defined inside a function, where a worker cannot find it. "
            "Move it to the top level of its file."
        )
    if module != "__main__":
        return f"{module}:{name}"
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # started with python -m package.module
        return f"{main.__spec__.name}:{name}"
    file = getattr(main, "__file__", None) or file_of_cells(name.partition(".")[0])
    if not file:
        raise ValueError(
            f"{name} is defined in an interactive session, where a worker cannot find it. "
            "Put it into a file and import it."
        )
    return f"{os.path.abspath(file)}:{name}"
