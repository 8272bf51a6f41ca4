# SPDX-License-Identifier: Apache-2.0
"""Artifacts and channels as code written for TFX makes them, and takes them out of lists."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from stoker.artifacts import Artifact, ExternalArtifact, SystemType
from stoker.dsl.channel import Channel, as_channel

_Artifact = TypeVar("_Artifact", bound=Artifact)


class File(Artifact):
    """One file."""

    TYPE_NAME = "File"


class Dataset(Artifact):
    """Data of any form."""

    TYPE_NAME = "Dataset"
    TYPE_ANNOTATION = SystemType.DATASET


class Statistics(Artifact):
    """What is known about some data."""

    TYPE_NAME = "Statistics"
    TYPE_ANNOTATION = SystemType.STATISTICS


class Metrics(Artifact):
    """How good something is."""

    TYPE_NAME = "Metrics"
    TYPE_ANNOTATION = SystemType.METRICS


def get_single_instance(artifact_list: Sequence[_Artifact]) -> _Artifact:
    """The only artifact of a list."""
    if len(artifact_list) != 1:
        raise ValueError(f"Expected one artifact, got {len(artifact_list)}: {artifact_list!r}.")
    return artifact_list[0]


def get_single_uri(artifact_list: Sequence[Artifact]) -> str:
    """The URI of the only artifact of a list."""
    return get_single_instance(artifact_list).uri


ARTIFACT_VERSION = "1.0.0"
"""The version of TFX since which files are called and laid out as they are here."""


def is_artifact_version_older_than(artifact: Artifact, artifact_version: str) -> bool:  # noqa: ARG001
    """Whether an artifact's files are laid out as before some version of TFX: none is here."""
    return False


def unwrap_channel_dict(channel_dict: Mapping[str, Channel]) -> dict[str, list[Artifact]]:
    """The artifacts that are in each channel already."""
    return {key: channel.get() for key, channel in channel_dict.items()}


def get_individual_channels(input_channel: Channel) -> list[Channel]:
    """The channels that one is made of: several for a union."""
    return list(input_channel.parts)


def external_input(uri: str) -> Channel:
    """The files at `uri` as a channel, for `CsvExampleGen(input=external_input(path))`."""
    artifact = ExternalArtifact()
    artifact.uri = uri
    return as_channel([artifact])
