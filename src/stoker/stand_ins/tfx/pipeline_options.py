# SPDX-License-Identifier: Apache-2.0
"""What TFX's pipelines say about themselves, and a local run has no use for."""

import enum


class ExecutionMode(enum.Enum):
    """Whether a pipeline ends: here it always does."""

    SYNC = 1
    ASYNC = 2


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
