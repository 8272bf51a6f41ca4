# SPDX-License-Identifier: Apache-2.0
"""The rows that `data.py` measures with: 18 columns like those of taxi trips."""

import functools
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv

BLOCK_ROWS = 1 << 16
WORDS = {
    "payment_type": 8,
    "company": 100,
    "pickup_community_area": 1000,
    "dropoff_street": 20_000,
    "device_of_the_driver": 50,
    "trip_id": 1_000_000,
}
FLOATS = [
    *("fare", "tips", "tolls", "trip_miles", "pickup_latitude", "pickup_longitude"),
    "dropoff_latitude",
]
INTS = ["trip_seconds", "trip_start_hour", "trip_start_day", "trip_start_timestamp", "seats"]


def csv_file(folder: str) -> str:
    return os.path.join(folder, "data", "rows.csv")


def examples_dir(folder: str) -> str:
    """Where `data_examples.py` leaves the examples: an artifact with the splits train and eval."""
    return os.path.join(folder, "examples")


def write_csv(folder: str, rows: int) -> None:
    os.makedirs(os.path.dirname(csv_file(folder)), exist_ok=True)
    random = np.random.default_rng(20)
    words = make_words()
    with open(csv_file(folder), "wb") as file:
        for start in range(0, rows, BLOCK_ROWS):
            table = make_block(random, words, min(BLOCK_ROWS, rows - start))
            options = pa.csv.WriteOptions(include_header=start == 0, quoting_style="needed")
            pa.csv.write_csv(table, file, options)


@functools.cache
def make_words() -> dict[str, pa.Array]:
    """The words of each column that has words."""
    return {
        name: pa.array([f"{name} number {i * 7919:09}" for i in range(n)])
        for name, n in WORDS.items()
    }


def make_block(random: np.random.Generator, words: dict[str, pa.Array], rows: int) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for number, name in enumerate(FLOATS):
        columns[name] = pa.array(np.round(random.gamma(2 + number, 3, rows), 6))
    for number, name in enumerate(INTS):
        columns[name] = pa.array(random.integers(0, 10 ** (2 * number + 1), rows))
    for name, values in words.items():
        skewed = (len(values) * random.random(rows) ** 2).astype(np.int64)
        columns[name] = values.take(pa.array(skewed))
    missing = {name: pa.array(random.random(rows) < 0.05) for name in columns}
    return pa.table(
        {name: pa.compute.if_else(missing[name], None, column) for name, column in columns.items()}
    )
