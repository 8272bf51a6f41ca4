# SPDX-License-Identifier: Apache-2.0
"""What examples look like, and what they should look like, by TFDV's rules and in its messages.

record batches ─ compute: feature_statistics, distribution, semantic_domains ─▶ statistics
statistics ─ data_schema ─▶ schema ─ schema_update ─▶ schema
statistics, schema ─ anomalies: expectations, drift ─▶ what is not as the schema says

Nothing here imports TensorFlow.
"""
