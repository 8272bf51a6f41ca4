# SPDX-License-Identifier: Apache-2.0
"""What Transform does in a worker: it learns a graph from the examples, and applies it to them."""

import os
from dataclasses import replace
from functools import partial
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import stoker.transform
from stoker import dsl
from stoker.components.transform.make_job import make_job
from stoker.transform.engine_choice import choose_engine
from stoker.transform.example_batches import read_share, write_share
from stoker.transform.job import TransformJob

if TYPE_CHECKING:
    from stoker.transform.local_engine import Pool, Traced

_ENGINE = os.path.dirname(os.path.abspath(stoker.transform.__file__))


class Executor(dsl.BaseBeamExecutor):
    """Runs a user's preprocessing_fn on the local engine, or on Apache Beam."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Transform."""
        from stoker.transform.examples_statistics import write_all_statistics
        from stoker.transform.local_engine import Pool, beam_only

        beam_args = self._context.beam_pipeline_args
        job = make_job(input_dict, output_dict, exec_properties, tmp_dir=self._get_tmp_dir())
        choice = choose_engine(beam_args, job.num_bytes)
        with Pool(choice.num_workers) as pool:
            traced = _trace(job)
            choice = choose_engine(beam_args, job.num_bytes, beam_only=beam_only(traced))
            print(f"Transform {replace(choice, num_workers=pool.size)}.", flush=True)
            if choice.on_beam:
                from stoker.transform.beam import run_on_beam

                run_on_beam(job, beam_args)
            else:
                _run_here(job, traced, pool)
        write_all_statistics(job)


def _trace(job: TransformJob) -> "Traced":
    from stoker.transform.local_engine import trace

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


def _run_here(job: TransformJob, traced: "Traced", pool: "Pool") -> None:
    from stoker.transform.local_engine import Dataset, analyze, transform

    datasets = [
        Dataset(key=source.key, read=partial(read_share, [source.folder], job.schema))
        for source in job.analyzed
    ]
    analyze(
        traced,
        datasets,
        job.transform_graph_dir,
        pool=pool,
        cache_in=job.cache_in,
        cache_out=job.cache_out,
    )
    for split, folder in job.examples_dirs.items():
        transform(
            job.transform_graph_dir,
            partial(read_share, job.transformed[split], job.schema),
            partial(write_share, folder),
            schema=job.schema,
            pool=pool,
        )
