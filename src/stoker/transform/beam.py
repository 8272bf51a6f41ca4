# SPDX-License-Identifier: Apache-2.0
"""A Transform on Apache Beam, where its data outgrows this machine: tensorflow-transform's own way.

The workers of a cluster need tensorflow-transform, and to reach the files by the same paths; they
need neither Stoker nor the user's module, whose functions travel by value.
"""

import glob
import os
import shutil
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
import tensorflow_transform.beam as tft_beam
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform import TFTransformOutput
from tensorflow_transform.beam import analyzer_cache
from tensorflow_transform.tf_metadata import dataset_metadata
from tfx_bsl.public import tfxio

from stoker.dsl.beam import make_pipeline
from stoker.transform.job import AnalyzedSplit, TransformJob


def run_on_beam(job: TransformJob, beam_pipeline_args: Sequence[str]) -> None:
    """Analyze and transform in one pipeline."""
    with (
        make_pipeline(beam_pipeline_args) as pipeline,
        tft_beam.Context(
            temp_dir=os.path.join(job.tmp_dir, "beam"), force_tf_compat_v1=job.force_tf_compat_v1
        ),
    ):
        transform_fn = _analyze(job, pipeline)
        _ = transform_fn | tft_beam.WriteTransformFn(job.transform_graph_dir)
        raw_dir = os.path.join(job.transform_graph_dir, TFTransformOutput.RAW_METADATA_DIR)
        metadata = dataset_metadata.DatasetMetadata(job.schema)
        _ = metadata | tft_beam.WriteMetadata(raw_dir, pipeline)
        for split, folder in job.examples_dirs.items():
            _transform(job, split, folder, pipeline, transform_fn)


def _analyze(job: TransformJob, pipeline: Any) -> Any:
    """The transform function as Beam has it: a SavedModel to come, and its metadata."""
    keys = {source.key: analyzer_cache.DatasetKey(source.key) for source in job.analyzed}
    data = {
        keys[source.key]: pipeline
        | f"Read {source.key}" >> _tfxio(job.schema, [source.folder]).BeamSource()
        for source in job.analyzed
    }
    known = None
    if job.cache_in or job.cache_out:
        known = pipeline | analyzer_cache.ReadAnalysisCacheFromFS(
            job.cache_in or os.path.join(job.tmp_dir, "no cache"), list(data)
        )
    config = _tfxio(job.schema, [job.analyzed[0].folder]).TensorAdapterConfig()
    transform_fn, learned = (data, known, config) | tft_beam.AnalyzeDatasetWithCache(
        job.preprocessing_fn, pipeline=pipeline
    )
    if job.cache_out:
        _keep_known(job.cache_in, job.cache_out, job.analyzed)
        if learned:
            _ = learned | analyzer_cache.WriteAnalysisCacheToFS(
                pipeline, job.cache_out, dataset_keys=list(data)
            )
    return transform_fn


def _transform(
    job: TransformJob, split: str, folder: str, pipeline: Any, transform_fn: Any
) -> None:
    from tfx_bsl.coders.example_coder import RecordBatchToExamplesEncoder

    source = _tfxio(job.schema, job.transformed[split])
    schema = transform_fn[1].schema
    examples = pipeline | f"Read {split}" >> source.BeamSource()
    batches, _ = ((examples, source.TensorAdapterConfig()), transform_fn) | (
        f"Transform {split}" >> tft_beam.TransformDataset(output_record_batches=True)
    )
    _ = (
        batches
        | f"Encode {split}"
        >> beam.FlatMap(lambda pair: RecordBatchToExamplesEncoder(schema).encode(pair[0]))
        | f"Write {split}"
        >> beam.io.WriteToTFRecord(
            os.path.join(folder, "transformed_examples"), file_name_suffix=".gz"
        )
    )


def _tfxio(schema: schema_pb2.Schema, folders: Sequence[str]) -> Any:
    patterns = [os.path.join(glob.escape(folder), "*") for folder in folders]
    return tfxio.TFExampleRecord(patterns, schema=schema)


def _keep_known(cache_in: str | None, cache_out: str, sources: Sequence[AnalyzedSplit]) -> None:
    """Copy what is known of the data of today; Beam adds what it learns."""
    for source in sources:
        folder = os.path.join(cache_in or "", source.key)
        if cache_in and os.path.isdir(folder):
            shutil.copytree(folder, os.path.join(cache_out, source.key), dirs_exist_ok=True)
