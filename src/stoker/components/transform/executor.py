# SPDX-License-Identifier: Apache-2.0
"""What Transform does in a worker: it learns a graph from the examples, and applies it to them."""

import inspect
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import stoker.transform
from stoker import dsl
from stoker.any_python.launcher_link import report_doing
from stoker.any_python.layout import only_file
from stoker.any_python.lines import say
from stoker.any_python.modules import load_dotted, load_function
from stoker.any_python.progress import follow
from stoker.artifacts import Artifact, ArtifactMap, Examples, get_split_uris
from stoker.data.columns import find_num_rows
from stoker.data.sharding import Shard, plan_shards
from stoker.dsl.pool import Pool
from stoker.dsl.proto.transform_pb2 import SplitsConfig
from stoker.statistics.data_schema import read_schema
from stoker.storage.digests import describe
from stoker.storage.files import remove_drafts
from stoker.transform.example_batches import list_files, read_shard, write_shard
from stoker.transform.job import AnalyzedSplit, TransformJob
from stoker.transform.placement import choose_placement

if TYPE_CHECKING:
    from stoker.transform.tracing import Traced

_ENGINE = os.path.dirname(os.path.abspath(stoker.transform.__file__))


class Executor(dsl.BaseBeamExecutor):
    """Runs a user's preprocessing_fn on the local engine, or on Apache Beam."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Transform."""
        from stoker.transform.analysis import beam_only
        from stoker.transform.examples_statistics import write_all_statistics

        beam_args = self._context.beam_pipeline_args
        job = _make_job(input_dict, output_dict, exec_properties, tmp_dir=self._get_tmp_dir())
        choice = choose_placement(beam_args, job.num_bytes)
        shards = _plan(job)
        num_shards = max(map(len, shards.values()), default=0)
        with self._context.open_pool(num_shards, choice.num_workers) as pool:
            report_doing("tracing preprocessing_fn")
            traced = _trace(job)
            choice = choose_placement(beam_args, job.num_bytes, beam_only=beam_only(traced))
            say(f"Transform {choice.explain(pool.where)}.")
            if choice.on_beam:
                from stoker.transform.beam import run_on_beam

                report_doing("running on Apache Beam")
                run_on_beam(job, beam_args)
            else:
                _run(job, traced, shards, pool)
        report_doing("counting a sample for statistics")
        write_all_statistics(job)


def _trace(job: TransformJob) -> "Traced":
    from stoker.transform.tracing import trace

    try:
        return trace(
            job.preprocessing_fn,
            schema=job.schema,
            tmp_dir=job.tmp_dir,
            force_tf_compat_v1=job.force_tf_compat_v1,
        )
    except ValueError as error:
        *_, (frame, _) = walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(_ENGINE):
            # It is we who complain of what the function returned: there is no line to show.
            raise error.with_traceback(None) from None
        raise


def _plan(job: TransformJob) -> dict[str, list[Shard]]:
    """The shards of each dataset that is analyzed, by its key, and of each split, by its name."""
    folders = {source.key: [source.folder] for source in job.analyzed}
    folders |= {split: [*many] for split, many in job.transformed.items()}
    return {name: plan_shards(list_files(many), cut=True) for name, many in folders.items()}


def _run(
    job: TransformJob, traced: "Traced", shards: Mapping[str, list[Shard]], pool: Pool
) -> None:
    from stoker.transform.local_engine import analyze, transform
    from stoker.transform.passes import Dataset

    read = partial(read_shard, job.schema)
    datasets = [
        Dataset(key=source.key, shards=[partial(read, one) for one in shards[source.key]])
        for source in job.analyzed
    ]
    with follow("analyzing", total=_count_rows(shards, [source.key for source in job.analyzed])):
        analyze(
            traced,
            datasets,
            job.transform_graph_dir,
            pool=pool,
            cache_in=job.cache_in,
            cache_out=job.cache_out,
        )
    for split, folder in job.examples_dirs.items():
        planned = shards[split]
        works = [
            (partial(read, one), partial(write_shard, folder, number, len(planned)))
            for number, one in enumerate(planned)
        ]
        with follow(f"transforming {split}", total=_count_rows(shards, [split])):
            transform(job.transform_graph_dir, works, schema=job.schema, pool=pool)
        remove_drafts(os.path.dirname(folder))  # of processes that were lost


def _count_rows(shards: Mapping[str, list[Shard]], names: Iterable[str]) -> int | None:
    every = (one for name in names for one in shards[name] if not one.part)
    return find_num_rows([path for one in every for path in one.files])


def _make_job(
    input_dict: ArtifactMap,
    output_dict: ArtifactMap,
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
        return dsl.parse_message(text, SplitsConfig())
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
    output_dict: ArtifactMap, examples: Sequence[Artifact], splits: Sequence[str]
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
    return {split: output.path(split=split) for split in splits}


def _statistics_dirs(output_dict: ArtifactMap) -> dict[str, str]:
    """Where everything goes that is written about the examples before and after."""
    names = [key for key in output_dict if key.startswith(("pre_transform_", "post_transform_"))]
    return {name: output_dict[name][0].uri for name in names if output_dict[name]}


def _span(artifact: Artifact) -> int:
    span = artifact.properties.get("span")
    return span if isinstance(span, int) else 0


def _uri(artifacts: ArtifactMap, key: str) -> str | None:
    return artifacts[key][0].uri if artifacts.get(key) else None
