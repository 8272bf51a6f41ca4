# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery."""

from stoker.stand_ins.tfx.cloud import BigQueryExecutor as Executor
