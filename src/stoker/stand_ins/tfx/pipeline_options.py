# SPDX-License-Identifier: Apache-2.0
"""What TFX's pipelines say about themselves, and a local run has no use for."""

import enum
from dataclasses import dataclass
from typing import ClassVar


class TriggerStrategy(enum.IntEnum):
    """When a node may start: here when all before it have ended well, or were not run."""

    TRIGGER_STRATEGY_UNSPECIFIED = 0
    ALL_UPSTREAM_NODES_SUCCEEDED = 1
    ALL_UPSTREAM_NODES_COMPLETED = 2
    LAZILY_ALL_UPSTREAM_NODES_SUCCEEDED = 3
    LAZILY_ALL_UPSTREAM_NODES_COMPLETED = 4


@dataclass
class NodeExecutionOptions:
    """How a node is run; of this, a local run heeds the retries and the time limit."""

    trigger_strategy: TriggerStrategy = TriggerStrategy.ALL_UPSTREAM_NODES_SUCCEEDED
    success_optional: bool = False
    max_execution_retries: int | None = None
    execution_timeout_sec: int = 0
    reset_stateful_working_dir: bool = False
    lifetime_start: str | None = None
    TriggerStrategy: ClassVar = TriggerStrategy

    def __post_init__(self) -> None:
        if self.max_execution_retries is not None:
            self.max_execution_retries = max(self.max_execution_retries, 0)


class SystemExecution:
    """A base type of executions, which own components may name as TYPE_ANNOTATION."""


class Train(SystemExecution):
    """Makes a model."""


class Transform(SystemExecution):
    """Makes data of data."""


class Process(SystemExecution):
    """Does anything else."""


class Evaluate(SystemExecution):
    """Measures a model or data."""


class Deploy(SystemExecution):
    """Brings a model to where it is served."""
