# SPDX-License-Identifier: Apache-2.0
"""Models to BigQuery."""

from stoker.stand_ins.tfx.cloud import (
    BIG_QUERY_SERVING_ARGS_KEY as SERVING_ARGS_KEY,
    BigQueryPusherExecutor as Executor,
)
