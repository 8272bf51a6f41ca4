# SPDX-License-Identifier: Apache-2.0
"""Data in, part by part, on the same rows: CSV to examples, statistics, and the DataAccessor.

python benchmarks/data.py --rows 1000000 --stages

A file of 18 mixed columns is made, 5% of its cells empty; then each part runs in a process of its
own on what the parts before it have left. With --stages it is said where the CPU seconds of CSV to
examples go; what is left there is reading and parsing, which Arrow does in threads of its own.
"""

import argparse
import os
import tempfile

import data_rows
import measuring

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("examples", "statistics", "accessor")
"""Each is a script of its own, `data_<part>.py`, which takes the folder and the number of rows."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone")
    parser.add_argument("--stages", action="store_true", help="where the CPU seconds go")
    parser.add_argument("--folder", help="keep the data in this folder, and use what is there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.abspath(args.folder or scratch)
        if not os.path.exists(data_rows.csv_file(folder)):
            data_rows.write_csv(folder, args.rows)
        for part in args.only or PARTS:
            stages = ["--stages"] if args.stages and part == "examples" else []
            script = os.path.join(HERE, f"data_{part}.py")
            times = measuring.run(script, folder, str(args.rows), *stages)
            measuring.show(part, args.rows, times)


if __name__ == "__main__":
    main()
