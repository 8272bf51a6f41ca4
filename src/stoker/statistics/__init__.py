# SPDX-License-Identifier: Apache-2.0
"""What examples look like, and what they should look like, by TFDV's rules and in its messages.

record batches ─ compute: feature_statistics, distribution ─▶ statistics ─ data_schema ─▶ schema
statistics, schema ─ anomalies: expectations, drift ─▶ what is not as the schema says

Nothing here imports TensorFlow.
"""
