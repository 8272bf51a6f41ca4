# SPDX-License-Identifier: Apache-2.0
"""Artifacts out of the lists that executors are given, as `tfx.types.artifact_utils` names it."""

from collections.abc import Sequence
from typing import TypeVar

from stoker.artifacts import (
    Artifact,
    decode_split_names,
    encode_split_names,
    get_split_uri,
    get_split_uris,
)

__all__ = [
    "decode_split_names",
    "encode_split_names",
    "get_single_instance",
    "get_single_uri",
    "get_split_uri",
    "get_split_uris",
]

_Artifact = TypeVar("_Artifact", bound=Artifact)


def get_single_instance(artifact_list: Sequence[_Artifact]) -> _Artifact:
    """The only artifact of a list."""
    if len(artifact_list) != 1:
        raise ValueError(f"Expected one artifact, got {len(artifact_list)}: {artifact_list!r}.")
    return artifact_list[0]


def get_single_uri(artifact_list: Sequence[Artifact]) -> str:
    """The URI of the only artifact of a list."""
    return get_single_instance(artifact_list).uri
