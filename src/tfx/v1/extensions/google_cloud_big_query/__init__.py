# SPDX-License-Identifier: Apache-2.0
"""BigQuery."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.components.example_gen.queries import BigQueryExampleGen
from stoker.stand_ins.tfx.cloud import (
    BIG_QUERY_SERVING_ARGS_KEY as PUSHER_SERVING_ARGS_KEY,
    BigQueryPusher as Pusher,
)

__getattr__ = find_part(__name__)
