# SPDX-License-Identifier: Apache-2.0
"""What ML Metadata raises: an error per status code, with gRPC's names and numbers."""

from typing import ClassVar

OK = 0


class StatusError(Exception):
    """A call that did not succeed."""

    error_code: ClassVar[int] = 2

    def __init__(self, message: str = "", error_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if error_code is not None:
            self.error_code = error_code  # type: ignore[misc]  # an instance may have its own


_NUMBERS = {
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}


class InvalidArgumentError(StatusError):
    """What was given cannot be written or read."""

    error_code = _NUMBERS["INVALID_ARGUMENT"]


class NotFoundError(StatusError):
    """There is no such thing in the store."""

    error_code = _NUMBERS["NOT_FOUND"]


class AlreadyExistsError(StatusError):
    """The store has one already."""

    error_code = _NUMBERS["ALREADY_EXISTS"]


class InternalError(StatusError):
    """The database failed."""

    error_code = _NUMBERS["INTERNAL"]


def _name_class(status: str) -> str:
    return "".join(word.capitalize() for word in status.split("_")) + "Error"


globals().update(_NUMBERS)
for _status, _number in _NUMBERS.items():  # those that only other programs raise
    globals().setdefault(
        _name_class(_status), type(_name_class(_status), (StatusError,), {"error_code": _number})
    )


def exception_type_from_error_code(error_code: int) -> type[StatusError]:
    """The class of errors with a code."""
    status = next(name for name, number in _NUMBERS.items() if number == error_code)
    found: type[StatusError] = globals()[_name_class(status)]
    return found


def make_exception(message: str, error_code: int) -> StatusError:
    """The error of a code."""
    return exception_type_from_error_code(error_code)(message)
