# SPDX-License-Identifier: Apache-2.0
"""What the step is given, as a job that the engine does: this file knows the names in the table."""

import inspect
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from google.protobuf import json_format

from stoker.any_python.layout import only_file
from stoker.any_python.modules import load_dotted, load_function
from stoker.artifacts import Artifact, Examples, get_split_uris
from stoker.dsl.proto.transform_pb2 import SplitsConfig
from stoker.statistics.data_schema import read_schema
from stoker.storage.manifest import describe
from stoker.transform.job import AnalyzedSplit, TransformJob

Artifacts = Mapping[str, Sequence[Artifact]]


def make_job(
    input_dict: Artifacts,
    output_dict: Artifacts,
    exec_properties: Mapping[str, Any],
    *,
    tmp_dir: str,
) -> TransformJob:
    """Load the user's function, look at the inputs, and describe the outputs."""
    examples = input_dict["examples"]
    splits = _splits(exec_properties.get("splits_config"), examples)
    function = load_function(
        module_file=exec_properties.get("module_file"),
        path=exec_properties.get("preprocessing_fn"),
        names=("preprocessing_fn",),
    )
    return TransformJob(
        preprocessing_fn=_bind_config(function, exec_properties.get("custom_config")),
        stats_options_updater_fn=_find_updater(function, exec_properties),
        force_tf_compat_v1=bool(exec_properties.get("force_tf_compat_v1")),
        schema=read_schema(only_file(input_dict["schema"][0].uri)),
        analyzed=_sources(examples, splits.analyze),
        transformed={split: get_split_uris(examples, split) for split in splits.transform},
        transform_graph_dir=output_dict["transform_graph"][0].uri,
        examples_dirs=_describe_examples(output_dict, examples, splits.transform),
        statistics_dirs=_statistics_dirs(output_dict),
        cache_in=_uri(input_dict, "analyzer_cache"),
        cache_out=_uri(output_dict, "updated_analyzer_cache"),
        tmp_dir=tmp_dir,
    )


def _bind_config(function: Callable[..., Any], config: str | None) -> Callable[[Any], Any]:
    """The function of the inputs alone."""
    if "custom_config" in inspect.signature(function).parameters:
        return partial(function, custom_config=json.loads(config or "null") or {})
    return function


def _find_updater(
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


def _sources(examples: Sequence[Artifact], splits: Sequence[str]) -> list[AnalyzedSplit]:
    """The splits of all inputs; the same content twice gets two keys, and counts twice."""
    seen: Counter[str] = Counter()
    sources = []
    for split in splits:
        for artifact, folder in zip(examples, get_split_uris(examples, split), strict=True):
            key = _content_key(artifact, split, folder)
            sources.append(AnalyzedSplit(key=f"{key}-{seen[key]}", folder=folder))
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


def _statistics_dirs(output_dict: Artifacts) -> dict[str, str]:
    """Where everything goes that is written about the examples before and after."""
    names = [key for key in output_dict if key.startswith(("pre_transform_", "post_transform_"))]
    return {name: output_dict[name][0].uri for name in names if output_dict[name]}


def _span(artifact: Artifact) -> int:
    span = artifact.properties.get("span")
    return span if isinstance(span, int) else 0


def _uri(artifacts: Artifacts, key: str) -> str | None:
    return artifacts[key][0].uri if artifacts.get(key) else None
