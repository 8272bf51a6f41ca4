# SPDX-License-Identifier: Apache-2.0
"""The local engine: TFT's analysis and transformation on this machine, without Beam.

    with LocalPool(num_processes) as pool:
        traced = trace(preprocessing_fn, schema=…, tmp_dir=…)
        if not beam_only(traced):
            analyze(traced, datasets, transform_graph_dir, pool=pool)
            transform(transform_graph_dir, shards, schema=…, pool=pool)

A pool is made first of all, before TensorFlow runs an op in this process.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform import TFTransformOutput, annotators, impl_helper, nodes
from tensorflow_transform.tf_metadata import dataset_metadata, metadata_io

from stoker.dsl.pool import LocalPool, Pool
from stoker.transform.analysis import Analysis
from stoker.transform.analyzer_cache import find_cache, write_cache
from stoker.transform.apply import apply_graph, calls_python
from stoker.transform.internals import DatasetKey, build_graph, transformed_metadata
from stoker.transform.passes import Dataset, Read
from stoker.transform.tracing import Traced

_Written = TypeVar("_Written")
Write = Callable[[Iterator[pa.RecordBatch]], _Written]
"""Takes what was made of a shard; what it returns goes back to the caller of `transform`."""


def analyze(
    traced: Traced,
    datasets: Sequence[Dataset],
    transform_graph_dir: str,
    *,
    pool: Pool,
    cache_in: str | None = None,
    cache_out: str | None = None,
) -> None:
    """Run the analyzers of a function over the data, and write its graph with their results in it.

    `transform_graph_dir` gets what TFX's Transform writes: `transform_fn/`,
    `transformed_metadata/` and, of the raw data, `metadata/`. What `cache_in` knows of a dataset
    is not computed again; `cache_out` gets what is now known of all of them.
    """
    keys = [DatasetKey(dataset.key) for dataset in datasets]
    caches = find_cache(cache_in, keys)
    asset_map = annotators.get_asset_annotations(traced.graph)
    annotators.clear_asset_annotations(traced.graph)
    caching = cache_in is not None or cache_out is not None
    last, cache_nodes, _ = build_graph(
        traced.graph, traced.inputs, traced.outputs, keys, caches if caching else None
    )
    analysis = Analysis(traced, datasets, pool, caches)
    traverser = nodes.Traverser(analysis)
    saved_model = traverser.visit_value_node(last)
    encoded = {
        key: {entry: traverser.visit_value_node(node) for entry, node in entries.items()}
        for key, entries in (cache_nodes or {}).items()
    }
    (saved_model_dir,) = saved_model()
    _publish(traced, saved_model_dir, transform_graph_dir, asset_map)
    if cache_out is not None:
        known = analysis.decoded
        for key, entries in encoded.items():
            known.setdefault(key, {}).update((entry, value()) for entry, value in entries.items())
        write_cache(cache_out, known)


def transform(
    transform_graph_dir: str,
    shards: Iterable[tuple[Read, Write[_Written]]],
    *,
    schema: schema_pb2.Schema,
    pool: Pool,
) -> list[_Written]:
    """Apply a graph to all batches of all shards; what was written of each.

    What reads and what writes is pickled: let it be functions of a module, or partials of such.
    """
    saved_model_dir = os.path.join(transform_graph_dir, TFTransformOutput.TRANSFORM_FN_DIR)
    if calls_python(saved_model_dir):
        pool = LocalPool()
    return list(pool.map(partial(_transform_shard, transform_graph_dir, schema), shards))


def _transform_shard(
    transform_graph_dir: str, schema: schema_pb2.Schema, shard: tuple[Read, Write[_Written]]
) -> _Written:
    read, write = shard
    return write(apply_graph(transform_graph_dir, read(), schema=schema))


def _publish(
    traced: Traced, saved_model_dir: str, transform_graph_dir: str, asset_map: dict[str, str]
) -> None:
    """Write the transform graph in the layout that TFTransformOutput reads."""
    graph_dir = os.path.join(transform_graph_dir, TFTransformOutput.TRANSFORM_FN_DIR)
    metadata_dir = os.path.join(transform_graph_dir, TFTransformOutput.TRANSFORMED_METADATA_DIR)
    raw_dir = os.path.join(transform_graph_dir, TFTransformOutput.RAW_METADATA_DIR)
    metadata = transformed_metadata(saved_model_dir, compat_v1=traced.compat_v1)
    shutil.copytree(
        saved_model_dir,
        graph_dir,
        ignore=shutil.ignore_patterns(impl_helper.METADATA_DIR_NAME),
        dirs_exist_ok=True,
    )
    metadata_io.write_metadata(metadata, metadata_dir)
    if asset_map:
        Path(metadata_dir, TFTransformOutput.ASSET_MAP).write_text(json.dumps(asset_map))
    metadata_io.write_metadata(dataset_metadata.DatasetMetadata(traced.schema), raw_dir)
