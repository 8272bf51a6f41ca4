# SPDX-License-Identifier: Apache-2.0
"""Eleven small data sets, each in two parts: what a schema is made from, and what came later.

`python tfdv_data.py FOLDER` writes their files; the same ones every time.
"""

import csv
import math
import random
import struct
import sys
import zlib
from pathlib import Path

PARTS = ("first", "later")
CSV_SETS = ("trips", "gaps", "tongues", "booleans", "categories", "numbers", "prose")
EXAMPLE_SETS = ("lists", "weights", "pictures")
FRAME_SETS = ("frame",)
ALL_SETS = CSV_SETS + EXAMPLE_SETS + FRAME_SETS


def write_data(folder: Path) -> None:
    """Write `NAME-PART.csv` and `NAME-PART.tfrecord` into a folder."""
    for name in CSV_SETS:
        for part in PARTS:
            rows = rows_of(name, part)
            path = folder / f"{name}-{part}.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    for name in EXAMPLE_SETS:
        for part in PARTS:
            _write_examples(folder / f"{name}-{part}.tfrecord", rows_of(name, part))


def rows_of(name: str, part: str) -> list[dict]:
    """The rows of one part; what is missing is None, or not there."""
    dice = random.Random(f"{name} {part}")
    later = part == "later"
    return [_MAKERS[name](dice, later, number) for number in range(_SIZES.get(name, 300))]


def _trip(dice, later, number):
    """Missing cells, drift in numbers and words, a word that is new and a column that is."""
    payments = ["Cash", "Credit Card", "No Charge", "Dispute"] + ["Prcard"] * later
    weights = [5, 4, 1, 1, 2][: len(payments)]
    miles = round(dice.expovariate(1 / (6 if later else 3)), 1)
    row = {
        "trip_miles": miles,
        "fare": round(3.25 + 2.2 * miles + dice.random(), 2),
        "hour": dice.choices(range(24), [1] * 7 + [4] * 17)[0],
        "month": dice.randint(1, 12),
        "payment_type": dice.choices(payments, weights)[0],
        "company": dice.choice(["Flash Cab", "Blue Ribbon", None, "Checker"]),
        "tips": None if dice.random() < 0.1 else round(dice.random() * 5, 2),
        "area": dice.choice([8, 32, 76, None]),
    }
    if later:
        row["vendor"] = dice.choice(["a", "b"])
        del row["month"]
    return row


def _gap(dice, later, number):
    """Columns without a value, with one value, and with values in few rows."""
    return {
        "nothing": None,
        "once": "x" if number == 7 else None,
        "always": "same",
        "three": 3,
        "half": dice.choice([None, 1.5]),
        "comes": (dice.randint(1, 9) if later else None),
        "goes": (None if later else dice.randint(1, 9)),
        "kept": dice.randint(-5, 5),
    }


def _tongue(dice, later, number):
    """Words of many scripts, with quotes, commas and blanks."""
    words = ["naïve", "日本", "Ελλάδα", "a,b", 'say "hi"', "emoji 🐧", " padded ", "ß"]
    return {
        "word": dice.choice(words[:6] if not later else words),
        "größe": dice.gauss(10, 2),
        "the column with blanks": dice.choice(["x y", "z"]),
        "1st": dice.randint(0, 3),
    }


def _boolean(dice, later, number):
    """Booleans as people write them."""
    return {
        "lower": dice.choice(["true", "false"]),
        "upper": dice.choice(["TRUE", "FALSE"]),
        "title": dice.choice(["True", "False"]),
        "digits": dice.choice([0, 1]),
        "ones": 1,
        "zeros": 0,
        "yes_no": dice.choice(["yes", "no"]),
        "set": dice.choice(["SET", "CLEAR"]),
        "only_true": "true",
        "grows": dice.choice([0, 1, 2] if later else [0, 1]),
        "mixed": dice.choice(["true", "false", "maybe"] if later else ["true", "false"]),
    }


def _category(dice, later, number):
    """Many words, more than a domain holds, and numbers that are names."""
    rank = min(int(dice.paretovariate(0.6)), 400)
    return {
        "many": f"w{rank:03d}",
        "unique": f"id-{part_number(later, number)}",
        "zip": dice.choice(["00501", "10001", "94105"]),
        "code": dice.choice([101, 202, 303]),
        "number_or_word": dice.choice(["1", "2", "three"]),
        "few": f"c{dice.randint(0, 99 if later else 79)}",
        "label": dice.choice(["good", "bad"]),
    }


def part_number(later, number):
    return number + 10_000 * later


def _number(dice, later, number):
    """Numbers of every size; what is not finite can be in a CSV file too."""
    return {
        "large": dice.choice([2**62, -(2**62), 2**40, 0]),
        "beyond": dice.choice([2**63, 5]),
        "huge": dice.choice([1e30, -1e30, 1.5]),
        "tiny": dice.random() * 1e-20,
        "negative": -dice.expovariate(1.0) * (3 if later else 1),
        "not_finite": dice.choice(["nan", "inf", "-inf", 1.0, 2.5]),
        "nan": dice.choice(["nan", 4.0]),
        "uniform": dice.random() + later * 0.25,
        "integers": dice.randint(0, 1000),
        "as_floats": float(dice.randint(0, 50)),
        "exponent": f"{dice.random():.3e}",
    }


def _prose(dice, later, number):
    """Natural text, dates and times."""
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "looked", "at", "rain"]
    words += ["over", "far", "grey", "hills"]
    return {
        "text": " ".join(dice.choice(words) for _ in range(dice.randint(6, 30))),
        "date": f"2024-{dice.randint(1, 12):02d}-{dice.randint(1, 28):02d}",
        "time": 1_700_000_000 + dice.randint(0, 86_400),
        "long": "x" * (1500 if number % 50 == 0 else 3),
        "place": dice.choice(["north", "south", "west"] if later else ["north", "south"]),
        "score": dice.gauss(1.0 if later else 0.0, 1.0),
    }


def _lists(dice, later, number):
    """Features of many values, of none, and missing ones; bytes that are not text."""
    row = {
        "ints": [dice.randint(0, 9) for _ in range(dice.randint(0, 4))],
        "floats": [dice.random() for _ in range(3)],
        "words": [dice.choice([b"a", b"b", b"cc"]) for _ in range(dice.randint(1, 3 + later))],
        "bytes": [bytes([dice.randint(200, 255), 7])] if number % 3 else [b"text"],
        "embedding": [dice.gauss(0, 1) for _ in range(8 - (later and number == 5))],
    }
    if number % 4:
        row["sometimes"] = [number]
    if number % 10 == 0:
        row["empty"] = []
    return row


def _weighted(dice, later, number):
    """Examples with weights."""
    return {
        "weight": [dice.choice([0.5, 1.0, 2.0])],
        "amount": [round(dice.gauss(5 + later, 2), 2)],
        "kind": [dice.choice([b"a", b"b", b"c"])],
        "count": [dice.randint(0, 6)] if number % 5 else [],
    }


def _framed(dice, later, number):
    """What a data frame holds: all kinds of columns that pandas has."""
    return {
        "double": math.nan if dice.random() < 0.2 else dice.gauss(0, 1),
        "integer": dice.randint(0, 5),
        "flag": dice.random() < 0.3,
        "word": None if dice.random() < 0.1 else dice.choice(["p", "q", "r"][: 2 + later]),
        "binary": dice.choice([b"k", b"l"]),
        "day": dice.randint(0, 100),
    }


def _picture(dice, later, number):
    """Pictures, as what they begin with; those of other kinds are few."""
    size = dice.randint(1, 9)
    chunk = b"IHDR" + struct.pack(">IIBBBBB", size, 2 * size, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (size + 1) * 2 * size)
    png = b"\x89PNG\r\n\x1a\n"
    for part in (chunk, b"IDAT" + rows, b"IEND"):
        png += struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
    return {"picture": [png if number % 20 or later else b"none"], "size": [size]}


_MAKERS = {
    "pictures": _picture,
    "trips": _trip,
    "gaps": _gap,
    "tongues": _tongue,
    "booleans": _boolean,
    "categories": _category,
    "numbers": _number,
    "prose": _prose,
    "lists": _lists,
    "weights": _weighted,
    "frame": _framed,
}
_SIZES = {
    "trips": 1000,
    "gaps": 40,
    "booleans": 60,
    "tongues": 120,
    "prose": 120,
    "lists": 120,
    "pictures": 110,
}


def _write_examples(path: Path, rows: list[dict]) -> None:
    from stoker.data.tfrecord import write_records
    from stoker.dsl.proto.example_pb2 import Example

    records = []
    for row in rows:
        example = Example()
        for name, values in row.items():
            feature = example.features.feature[name]
            if any(isinstance(value, bytes) for value in values):
                feature.bytes_list.value.extend(values)
            elif any(isinstance(value, float) for value in values):
                feature.float_list.value.extend(values)
            else:
                feature.int64_list.value.extend(values)
        records.append(example.SerializeToString(deterministic=True))
    write_records(str(path), records)


if __name__ == "__main__":
    write_data(Path(sys.argv[1]))
