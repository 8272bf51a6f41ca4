# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery."""

from stoker.components.example_gen.query_executors import BigQueryExecutor as Executor
