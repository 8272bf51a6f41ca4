# SPDX-License-Identifier: Apache-2.0
"""Files for an ExampleGen, in the old way: `CsvExampleGen(input=external_input(path))`."""

from stoker.artifacts import ExternalArtifact
from stoker.dsl.channel import Channel, as_channel

__all__ = ["csv_input", "external_input", "parquet_input", "tfrecord_input"]


def external_input(uri: str) -> Channel:
    """The files at `uri` as a channel."""
    artifact = ExternalArtifact()
    artifact.uri = uri
    return as_channel([artifact])


csv_input = parquet_input = tfrecord_input = external_input
