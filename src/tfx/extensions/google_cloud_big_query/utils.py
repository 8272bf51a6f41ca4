# SPDX-License-Identifier: Apache-2.0
"""What ExampleGens of users' own that read from BigQuery are made with."""

from stoker.stand_ins.tfx.big_query import ReadFromBigQuery, parse_gcp_project, row_to_example
