# SPDX-License-Identifier: Apache-2.0
"""Models to BigQuery."""

from stoker.stand_ins.tfx.cloud import BigQueryPusher as Pusher
