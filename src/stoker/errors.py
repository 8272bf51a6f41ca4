# SPDX-License-Identifier: Apache-2.0
"""Every error that a failed run can raise.

    StokerError
    ├── BadPipeline       a step is certain to fail: told for all steps before the first one runs
    ├── StepFailed        a step's own code raised, or its process died
    ├── NothingWritten    a step ended without writing an output it owes
    ├── TrainingDiverged  a loss is NaN or infinite, and the Trainer is to stop then
    ├── ModelRejected     a model does not load, or its serving signature does not work
    ├── RewriteFailed     a model cannot be rewritten, or the result is not its equal
    ├── BadData           an input file cannot be read as what it should be
    ├── StoreError        the metadata store cannot be used
    │   └── StoreLost     its server does not answer, or has to be asked again
    └── MissingPart       a part of TFX, or an optional package, that is not here

Bad arguments are `ValueError` or `TypeError`, as everywhere in Python.
"""

from stoker.any_python.failures import NothingWritten, StokerError
from stoker.any_python.lines import escape_controls

__all__ = [
    "BadData",
    "BadPipeline",
    "MissingPart",
    "ModelRejected",
    "NothingWritten",
    "RewriteFailed",
    "StepFailed",
    "StokerError",
    "StoreError",
    "StoreLost",
    "TrainingDiverged",
]


class BadPipeline(StokerError, ValueError):
    """A step is certain to fail; nothing was run. It is a ValueError, as bad arguments are."""


class StepFailed(StokerError):
    """A step's own code raised, or its process died.

    `traceback` is the text of the user's own traceback, which was printed when the step failed.
    """

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message, traceback)
        self.traceback = traceback

    def __str__(self) -> str:
        return escape_controls(str(self.args[0]))


class TrainingDiverged(StokerError):
    """A loss is NaN or infinite, and Trainer(stop_on_nan=True) is to stop then."""


class ModelRejected(StokerError):
    """A model that the Trainer wrote does not load, or fails when its signature is called."""


class RewriteFailed(StokerError, ValueError):
    """A model cannot be rewritten to a format, or what comes out does not answer as it does.

    It is a ValueError too, which is what TFX's rewriters raise.
    """


class BadData(StokerError):
    """An input file cannot be read; the message names the file and the place in it."""


class StoreError(StokerError):
    """The metadata store cannot be opened or written."""


class StoreLost(StoreError):
    """The server of a metadata store does not answer now, or has ended a transaction itself.

    What was asked may be asked again; whether a transaction took effect may have to be found out.
    """


class MissingPart(ImportError, StokerError):
    """A part of TFX, or an optional package, that is not here; the message names the alternative.

    It is an ImportError, which passes through `from tfx.x import y`; Python would replace an
    AttributeError there by one of its own, and the advice would be lost.
    """


class MissingModule(MissingPart, ModuleNotFoundError):
    """A module of a package that Stoker stands in for; code that can do without it catches it."""
