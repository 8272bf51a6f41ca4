# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery, at an older place."""

from stoker.components.example_gen.queries import BigQueryExampleGen
