# SPDX-License-Identifier: Apache-2.0
"""tf.Examples in and out: files to Arrow record batches, batches to records, records to tensors.

files ─ csv, parquet, json_lines ─▶ record batches ─ encode ─▶ records ─ shards, split ─▶ both of:
    Split-<name>/*.gz, columns/Split-<name>/*.arrow
Split-<name>/*.gz ─ tfrecord ─▶ records ─ decode ─▶ record batches ─▶ statistics ─▶ schema
statistics, schema ─ anomalies ─▶ what is not as the schema says
columns/Split-<name>/*.arrow ─ columns ─▶ row_order, gather ─▶ tensors: what `dataset` gives
Split-<name>/*.gz ─ dataset ─▶ the same, where there are no columns

Only `dataset`, `parsing` and `tensors` import TensorFlow; importing the package imports none of
them.
"""
