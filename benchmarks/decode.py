# SPDX-License-Identifier: Apache-2.0
"""Our decoder of tf.Examples beside tfx-bsl's, on the same records: CPU seconds, and their ratio.

python benchmarks/decode.py

Both take turns, and the best of each counts. That both give the same is what
tests/data/test_decode.py is about.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders import example_coder

from stoker.data.decode import decode_batch
from stoker.dsl.proto.example_pb2 import Example

_LISTS = {bytes: "bytes_list", float: "float_list", int: "int64_list"}
_KINDS = {bytes: schema_pb2.BYTES, float: schema_pb2.FLOAT, int: schema_pb2.INT}
_BATCH_ROWS = 4096
Row = dict[str, list[bytes] | list[float] | list[int]]


def _make_table(rng: random.Random) -> Row:
    return {
        **{f"float{column}": [rng.random()] for column in range(8)},
        **{f"int{column}": [rng.randrange(10**4)] for column in range(6)},
        **{f"word{column}": [rng.choice([b"red", b"green", b"blue"])] for column in range(4)},
    }


def _floats(num: int) -> Callable[[random.Random], Row]:
    return lambda rng: {"vector": [rng.random() for _ in range(num)]}


def _integers(num: int, most: int) -> Callable[[random.Random], Row]:
    return lambda rng: {"ids": [rng.randrange(most) for _ in range(num)]}


def _words(num: int) -> Callable[[random.Random], Row]:
    return lambda rng: {"words": [rng.choice([b"red", b"green"]) for _ in range(num)]}


def _make_ragged(rng: random.Random) -> Row:
    return {
        "tokens": [rng.randrange(30_000) for _ in range(rng.randrange(200))],
        "weights": [rng.random() for _ in range(rng.randrange(50))],
        "label": [rng.randrange(2)],
    }


SHAPES: dict[str, Callable[[random.Random], Row]] = {
    "a table of 18 columns": _make_table,
    "200 columns of one float": lambda rng: {f"f{one}": [rng.random()] for one in range(200)},
    "one vector of 16 floats": _floats(16),
    "one vector of 128 floats": _floats(128),
    "one vector of 2,048 floats": _floats(2048),
    "128 integers below 100": _integers(128, 100),
    "128 integers below 30,000": _integers(128, 30_000),
    "128 integers below 2**40": _integers(128, 1 << 40),
    "128 integers below 2**21": _integers(128, 1 << 21),
    "128 integers below 2**28": _integers(128, 1 << 28),
    "16 integers below 2**40": _integers(16, 1 << 40),
    "128 hashes of 63 bits": _integers(128, 1 << 63),
    "2,048 integers below 30,000": _integers(2048, 30_000),
    "30 words": _words(30),
    "300 words": _words(300),
    "lists of any length": _make_ragged,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--values", type=int, default=2_000_000, help="of each shape")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="the shapes with this in their names")
    args = parser.parse_args()
    for name, make in SHAPES.items():
        if args.only and args.only not in name:
            continue
        records, schema, num_values = make_records(make, args.values)
        ours, theirs, both = measure(records, schema, args.rounds)
        print(
            f"{name:28} {num_values / 1e6:4.1f} M values   ours {ours:6.3f} s   "
            f"tfx-bsl {theirs:6.3f} s of CPU   ratio {ours / theirs:4.2f}   "
            f"as chosen {both / theirs:4.2f}",
            flush=True,
        )


def make_records(
    make: Callable[[random.Random], Row], num_values: int
) -> tuple[list[bytes], schema_pb2.Schema, int]:
    rng = random.Random(1)
    schema = schema_pb2.Schema()
    for name, values in make(rng).items():
        kind = _KINDS[type(values[0])] if values else schema_pb2.FLOAT
        schema.feature.add(name=name, type=kind)
    records, found = [], 0
    while found < num_values:
        example = Example()
        for name, values in make(rng).items():
            if values:
                getattr(example.features.feature[name], _LISTS[type(values[0])]).value.extend(
                    values
                )
            found += len(values)
        records.append(example.SerializeToString())
    return records, schema, found


def measure(records: list[bytes], schema: schema_pb2.Schema, rounds: int) -> list[float]:
    """The best of ours alone, of tfx-bsl's, and of the one that is chosen."""
    decoder = example_coder.ExamplesToRecordBatchDecoder(schema.SerializeToString())
    decoders: tuple[Callable[[list[bytes]], pa.RecordBatch], ...] = (
        lambda batch: decode_batch(batch, schema, natively=False),
        decoder.DecodeBatch,
        lambda batch: decode_batch(batch, schema),
    )
    best = [float("inf")] * len(decoders)
    for _ in range(rounds):
        for which, decode in enumerate(decoders):
            begin = time.process_time()
            for batch in _batches(records):
                decode(batch)
            best[which] = min(best[which], time.process_time() - begin)
    return best


def _batches(records: list[bytes]) -> Iterator[list[bytes]]:
    for begin in range(0, len(records), _BATCH_ROWS):
        yield records[begin : begin + _BATCH_ROWS]


if __name__ == "__main__":
    main()
