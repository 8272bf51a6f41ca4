# SPDX-License-Identifier: Apache-2.0
"""Statistics and a schema, as the workers of StatisticsGen and SchemaGen make them."""

import json
import os
import sys

import data_rows
import measuring

from stoker.artifacts import Examples, ExampleStatistics, Schema
from stoker.components import schema_gen, statistics_gen
from stoker.components.schema_gen import SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.data import columns  # noqa: F401 - as a worker has them
from stoker.dsl import Channel
from stoker.statistics import compute, data_schema  # noqa: F401


def main(folder: str) -> None:
    examples, counted, inferred = Examples(), ExampleStatistics(), Schema()
    examples.uri, examples.splits = data_rows.examples_dir(folder), ["train", "eval"]
    counted.uri = os.path.join(folder, "statistics")
    inferred.uri = os.path.join(folder, "schema")
    counting = StatisticsGen(Channel(Examples)).spec.values({})
    inferring = SchemaGen(Channel(ExampleStatistics)).spec.values({})
    clock = measuring.Clock()
    statistics_gen.Executor().Do({"examples": [examples]}, {"statistics": [counted]}, counting)
    schema_gen.Executor().Do({"statistics": [counted]}, {"schema": [inferred]}, inferring)
    wall, cpu = clock.since()
    print(json.dumps({"wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(sys.argv[1])
