# SPDX-License-Identifier: Apache-2.0
"""A small pipeline with everything in a bucket, as a program: no step needs TensorFlow.

python bucket_pipeline.py URL STORE [TIMES] [--in-process]
"""

import hashlib
import sys

from tfx import v1 as tfx
from tfx.dsl.io import fileio

from stoker.launchers.in_process import InProcess


@tfx.dsl.components.component
def Shout(
    statistics: tfx.dsl.components.InputArtifact[tfx.types.standard_artifacts.ExampleStatistics],
    text: tfx.dsl.components.OutputArtifact[tfx.types.standard_artifacts.Model],
) -> tfx.dsl.components.OutputDict(length=int):
    """Writes as users' components do, with fileio, below the URI that it is given."""
    names = sorted(fileio.listdir(statistics.uri))
    with fileio.open(statistics.uri + "/Split-train/FeatureStats.pb", "rb") as file:
        seen = hashlib.sha256(file.read()).hexdigest()
    fileio.makedirs(text.uri + "/deep/empty")
    with fileio.open(text.uri + "/deep/names.txt", "w") as file:
        file.write("\n".join([*names, seen]))
    with fileio.open(text.uri + "/big.bin", "wb") as file:
        file.write(b"x" * 300_000)
    return {"length": len(names)}


@tfx.dsl.components.component
def Measure(
    text: tfx.dsl.components.InputArtifact[tfx.types.standard_artifacts.Model],
    length: int,
    times: tfx.dsl.components.Parameter[int] = 1,
) -> tfx.dsl.components.OutputDict(total=int):
    with fileio.open(text.uri + "/deep/names.txt") as file:
        return {"total": times * length + len(file.read().split())}


def create_pipeline(url: str, store: str, times: int = 1, *, root: str = "") -> tfx.dsl.Pipeline:
    example_gen = tfx.components.CsvExampleGen(input_base=f"{url}/data")
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema = tfx.dsl.Importer(
        source_uri=f"{url}/schema", artifact_type=tfx.types.standard_artifacts.Schema
    ).with_id("schema")
    validator = tfx.components.ExampleValidator(
        statistics=statistics_gen.outputs["statistics"], schema=schema.outputs["result"]
    )
    shout = Shout(statistics=statistics_gen.outputs["statistics"])
    measure = Measure(text=shout.outputs["text"], length=shout.outputs["length"], times=times)
    pusher = tfx.components.Pusher(
        model=shout.outputs["text"],
        push_destination=tfx.proto.PushDestination(
            filesystem=tfx.proto.PushDestination.Filesystem(base_directory=f"{url}/served")
        ),
    )
    return tfx.dsl.Pipeline(
        pipeline_name="small",
        pipeline_root=root or f"{url}/root",
        components=[example_gen, statistics_gen, schema, validator, shout, measure, pusher],
        enable_cache=True,
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            store
        ),
    )


def main(words: list[str]) -> None:
    launcher = InProcess() if "--in-process" in words else None
    url, store, *times = [word for word in words if not word.startswith("--")]
    tfx.orchestration.LocalDagRunner(launcher).run(create_pipeline(url, store, *map(int, times)))


if __name__ == "__main__":
    main(sys.argv[1:])
