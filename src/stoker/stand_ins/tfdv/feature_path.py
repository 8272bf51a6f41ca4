# SPDX-License-Identifier: Apache-2.0
"""The path of a feature, as TFDV's functions take and return it."""

import functools
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import path_pb2


@functools.total_ordering
class FeaturePath:
    """The names that lead to a feature; one, unless the feature is in a struct."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Iterable[str]) -> None:
        self._steps = tuple(steps)

    @staticmethod
    def from_proto(path_proto: "path_pb2.Path") -> "FeaturePath":
        """The path of a message."""
        return FeaturePath(path_proto.step)

    @staticmethod
    def from_json(path_json: str) -> "FeaturePath":
        """The path of a JSON list of names."""
        steps = json.loads(path_json)
        if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
            raise TypeError(f"A FeaturePath is a JSON list of names, got {path_json}.")
        return FeaturePath(steps)

    @staticmethod
    def from_string(path_string: str) -> "FeaturePath":
        """The path of names with dots between them."""
        return FeaturePath(path_string.split("."))

    def to_proto(self) -> "path_pb2.Path":
        """The path as a message."""
        from tensorflow_metadata.proto.v0 import path_pb2

        return path_pb2.Path(step=self._steps)

    def to_json(self) -> str:
        """The path as a JSON list."""
        return json.dumps(self._steps)

    def steps(self) -> tuple[str, ...]:
        """The names."""
        return self._steps

    def parent(self) -> "FeaturePath":
        """The path of the struct that holds this."""
        if not self._steps:
            raise ValueError("FeaturePath([]) has no parent: ask a path that has names.")
        return FeaturePath(self._steps[:-1])

    def child(self, child_step: str) -> "FeaturePath":
        """The path of something in this struct."""
        return FeaturePath((*self._steps, child_step))

    def __str__(self) -> str:
        return ".".join(self._steps)

    def __repr__(self) -> str:
        return repr(self._steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeaturePath) and self._steps == other._steps

    def __lt__(self, other: "FeaturePath") -> bool:
        return self._steps < other._steps

    def __hash__(self) -> int:
        return hash(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __bool__(self) -> bool:
        return bool(self._steps)
