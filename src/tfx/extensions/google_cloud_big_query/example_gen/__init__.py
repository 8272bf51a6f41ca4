# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_extension
from tfx.extensions.google_cloud_big_query.example_gen import component

__getattr__ = missing_extension(__name__)
