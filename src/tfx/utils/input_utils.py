# SPDX-License-Identifier: Apache-2.0
"""Files for an ExampleGen, as old pipelines gave them."""

from stoker.stand_ins.tfx.artifacts import external_input

csv_input = parquet_input = tfrecord_input = external_input
