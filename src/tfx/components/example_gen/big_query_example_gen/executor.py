# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery, at an older place."""

from stoker.components.example_gen.query_executors import BigQueryExecutor as Executor
