# SPDX-License-Identifier: Apache-2.0
"""One Transform, whatever runs it: the user's function, what is read, and where results go."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.input_files import matching_files


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedSplit:
    """One split of one input."""

    key: str
    """Names the content, not the place: what an analyzer cache knows is known of the content."""
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformJob:
    """What one Transform does."""

    preprocessing_fn: Callable[[Any], Any]
    stats_options_updater_fn: Callable[..., Any] | None
    force_tf_compat_v1: bool
    schema: schema_pb2.Schema
    analyzed: Sequence[AnalyzedSplit]
    transformed: Mapping[str, Sequence[str]]
    """The folders of each split that is transformed."""
    transform_graph_dir: str
    examples_dirs: Mapping[str, str]
    """Where each transformed split goes; empty if none is written."""
    statistics_dirs: Mapping[str, str]
    """Where statistics, schemas and anomalies go, by the names of the outputs; empty if nowhere."""
    cache_in: str | None
    cache_out: str | None
    tmp_dir: str

    @property
    def num_bytes(self) -> int:
        """The size of the files that are analyzed or transformed."""
        folders = {split.folder for split in self.analyzed}.union(*self.transformed.values())
        return sum(os.path.getsize(path) for path in matching_files(sorted(folders)))
