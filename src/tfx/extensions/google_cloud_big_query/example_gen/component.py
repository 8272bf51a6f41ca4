# SPDX-License-Identifier: Apache-2.0
"""Examples from BigQuery."""

from stoker.components.example_gen.queries import BigQueryExampleGen
