# SPDX-License-Identifier: Apache-2.0
"""tf.Examples in and out: files to Arrow record batches, batches to records, records to tensors.

input_files ─ csv, parquet, json_lines ─▶ record batches ─ encode ─▶ records ─ shards ─▶
    Split-<name>/*.gz, and columns/Split-<name>/*.arrow beside them
Split-<name>/*.gz ─ tfrecord ─▶ records ─ decode ─▶ record batches
columns/Split-<name>/*.arrow ─ columns ─▶ row_order, gather ─▶ tensors: what `accessor` gives
Split-<name>/*.gz ─ accessor ─▶ the same, where there are no columns; background_columns makes them

To read a new input format: write `x.py` beside csv.py, and name it in components/example_gen.

Only `accessor`, `parsing` and `tensors` import TensorFlow; importing the package imports none of
them.
"""
