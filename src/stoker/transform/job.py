# SPDX-License-Identifier: Apache-2.0
"""One Transform, whatever runs it: the user's function, what is read, and where results go."""

import inspect
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf import json_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.artifacts import Artifact, Examples, get_split_uris
from stoker.data.files import matching_files
from stoker.dsl.proto.transform_pb2 import SplitsConfig
from stoker.statistics.schema import read_schema
from stoker.storage.layout import only_file
from stoker.storage.manifest import describe
from stoker.user_code.loader import load_dotted, load_function

__all__ = ["Job", "Source", "make_job"]

Artifacts = Mapping[str, Sequence[Artifact]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One split of one input."""

    key: str
    """Names the content, not the place: what an analyzer cache knows is known of the content."""
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one Transform does."""

    preprocessing_fn: Callable[[Any], Any]
    stats_options_updater_fn: Callable[..., Any] | None
    force_tf_compat_v1: bool
    schema: schema_pb2.Schema
    analyzed: Sequence[Source]
    transformed: Mapping[str, Sequence[str]]
    """The folders of each split that is transformed."""
    transform_graph_dir: str
    examples_dirs: Mapping[str, str]
    """Where each transformed split goes; empty if none is written."""
    cache_in: str | None
    cache_out: str | None
    tmp_dir: str

    @property
    def num_bytes(self) -> int:
        """The size of the files that are analyzed or transformed."""
        folders = {one.folder for one in self.analyzed}.union(*self.transformed.values())
        return sum(os.path.getsize(path) for path in matching_files(sorted(folders)))


def make_job(
    input_dict: Artifacts,
    output_dict: Artifacts,
    exec_properties: Mapping[str, Any],
    *,
    tmp_dir: str,
) -> Job:
    """Load the user's function, look at the inputs, and describe the outputs."""
    examples = input_dict["examples"]
    splits = _splits(exec_properties.get("splits_config"), examples)
    function = load_function(
        module_file=exec_properties.get("module_file"),
        path=exec_properties.get("preprocessing_fn"),
        names=("preprocessing_fn",),
    )
    return Job(
        preprocessing_fn=_configured(function, exec_properties.get("custom_config")),
        stats_options_updater_fn=_updater(function, exec_properties),
        force_tf_compat_v1=bool(exec_properties.get("force_tf_compat_v1")),
        schema=read_schema(only_file(input_dict["schema"][0].uri)),
        analyzed=_sources(examples, splits.analyze),
        transformed={split: get_split_uris(examples, split) for split in splits.transform},
        transform_graph_dir=output_dict["transform_graph"][0].uri,
        examples_dirs=_describe_examples(output_dict, examples, splits.transform),
        cache_in=_uri(input_dict, "analyzer_cache"),
        cache_out=_uri(output_dict, "updated_analyzer_cache"),
        tmp_dir=tmp_dir,
    )


def _configured(function: Callable[..., Any], config: str | None) -> Callable[[Any], Any]:
    """The function of the inputs alone."""
    if "custom_config" in inspect.signature(function).parameters:
        return partial(function, custom_config=json.loads(config or "null") or {})
    return function


def _updater(
    function: Callable[..., Any], exec_properties: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """The user's function that changes how statistics are made: named, or in the same module."""
    if path := exec_properties.get("stats_options_updater_fn"):
        return load_dotted(path)
    names = getattr(inspect.unwrap(function), "__globals__", {})
    found: Callable[..., Any] | None = names.get("stats_options_updater_fn")
    return found


def _splits(text: str | None, examples: Sequence[Artifact]) -> SplitsConfig:
    if text:
        return json_format.Parse(text, SplitsConfig())
    assert isinstance(examples[0], Examples)
    return SplitsConfig(analyze=["train"], transform=examples[0].splits)


def _sources(examples: Sequence[Artifact], splits: Sequence[str]) -> list[Source]:
    """The splits of all inputs; the same content twice gets two keys, and counts twice."""
    seen: Counter[str] = Counter()
    sources = []
    for split in splits:
        for artifact, folder in zip(examples, get_split_uris(examples, split), strict=True):
            key = _content_key(artifact, split, folder)
            sources.append(Source(key=f"{key}-{seen[key]}", folder=folder))
            seen[key] += 1
    return sources


def _content_key(artifact: Artifact, split: str, folder: str) -> str:
    digest = artifact.custom_properties.get("content_digest") or describe(folder).digest
    return f"span-{_span(artifact)}-{re.sub('[^A-Za-z0-9_]', '_', split)}-{str(digest)[:32]}"


def _describe_examples(
    output_dict: Artifacts, examples: Sequence[Artifact], splits: Sequence[str]
) -> dict[str, str]:
    """Say of the output what its splits are, and that it is as new as the newest input."""
    if not output_dict.get("transformed_examples"):
        return {}
    (output,) = output_dict["transformed_examples"]
    assert isinstance(output, Examples)
    output.splits = list(splits)
    newest = max(examples, key=_span)
    for name in ("span", "version"):
        if name in newest.properties:
            output.properties[name] = newest.properties[name]
    return {split: os.path.join(output.uri, f"Split-{split}") for split in splits}


def _span(artifact: Artifact) -> int:
    span = artifact.properties.get("span")
    return span if isinstance(span, int) else 0


def _uri(artifacts: Artifacts, key: str) -> str | None:
    return artifacts[key][0].uri if artifacts.get(key) else None
