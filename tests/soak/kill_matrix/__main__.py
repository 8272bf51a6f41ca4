# SPDX-License-Identifier: Apache-2.0
"""The program: `python -m kill_matrix --kills 1000 --seed 15 --folder /tmp/soak`."""

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kill_matrix.chain import Chain, Plan, Reference, measure, run_chain
from kill_matrix.matrix import SCENARIOS, Progress, Row, format_table, list_rows
from kill_matrix.roots import mount_fuse
from kill_matrix.victims import Victim


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill until there were enough; 1 if anything was lost or wrong."""
    options = _parse(arguments)
    folder = Path(options.folder).resolve()
    with contextlib.ExitStack() as stack:
        disks = list(options.disks)
        if "FUSE" in disks:
            reason = stack.enter_context(mount_fuse(folder / "FUSE", folder / "below FUSE"))
            if reason:
                print(f"No rows on FUSE, because {reason}.", flush=True)
                disks.remove("FUSE")
        rows = list_rows(options.scenarios, disks, map(Victim, options.victims))
        progress = Progress(
            folder / "progress.jsonl", {"seed": options.seed, "rows": [str(row) for row in rows]}
        )
        if progress.chains:
            print(f"Goes on after {progress.num_kills} kills, in {folder}.", flush=True)
        soak = Soak(folder, options.seed, progress, options.chain)
        until = time.monotonic() + options.seconds
        while progress.num_kills < options.kills and time.monotonic() < until:
            soak.run_next(rows)
    print(format_table(progress.chains))
    return int(any(chain.lost or chain.wrong for _, chain in progress.chains))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill_matrix", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument(
        "--chain", type=int, nargs=2, default=[4, 7], help="least and most kills before a run ends"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after the chain then")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--folder", default="/tmp/soak", help="for roots, and how far it is")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--disks", nargs="+", choices=["local", "FUSE"], default=["local", "FUSE"])
    parser.add_argument("--victims", nargs="+", choices=[*Victim], default=[*Victim])
    return parser.parse_args(arguments)


class Soak:
    """Chain after chain, each with random numbers of its own: a soak can stop between any two."""

    def __init__(self, folder: Path, seed: int, progress: Progress, chain: tuple[int, int]) -> None:
        self._folder, self._seed, self._progress, self._chain = folder, seed, progress, chain
        self._first = len(progress.chains)  # roots of an earlier start may have a run at work
        self._references: dict[str, Reference] = {}

    def run_next(self, rows: Sequence[Row]) -> None:
        number = len(self._progress.chains)
        row = rows[number % len(rows)]
        reference = self._find_reference(row.scenario)
        chance = random.Random(f"{self._seed} {number}")
        root = self._folder / row.disk / f"{row.folder}-{self._first}"
        plan = Plan(
            scenario=row.scenario,
            victim=row.victim,
            root=root,
            salt=str(number),
            num_kills=chance.randint(*self._chain),
        )
        chain = run_chain(plan, reference, chance)
        if chain.lost or chain.wrong:
            self._set_aside(root, number)
        self._progress.add(row, chain)
        _report(number, row, chain, self._progress.num_kills)

    def _find_reference(self, scenario: str) -> Reference:
        if scenario in self._references:
            return self._references[scenario]
        path = self._folder / f"reference of {scenario}.json"
        if not path.exists():
            root = self._folder / "local" / f"reference of {scenario}"
            shutil.rmtree(root, ignore_errors=True)
            path.write_text(json.dumps(asdict(measure(scenario, root))))
        self._references[scenario] = Reference(**json.loads(path.read_text()))
        return self._references[scenario]

    def _set_aside(self, root: Path, number: int) -> None:
        """Keep what went wrong for whoever looks; the next chain of the row begins anew."""
        kept = self._folder / "wrong"
        kept.mkdir(exist_ok=True)
        shutil.copytree(root, kept / f"{number}", symlinks=True, dirs_exist_ok=True)
        shutil.copy(root.parent / f"{root.name}.log", kept / f"{number}.log")
        shutil.rmtree(root, ignore_errors=True)


def _report(number: int, row: Row, chain: Chain, num_kills: int) -> None:
    print(
        f"{num_kills} kills; chain {number}: {row}: {chain.kills} in {chain.seconds:.0f} s",
        flush=True,
    )
    for problem in [*chain.lost, *chain.wrong]:
        print(f"  {problem}", file=sys.stderr, flush=True)
    if chain.lost or chain.wrong:
        print(f"  after: {'; '.join(chain.moments)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # models are loaded here, too
    sys.exit(main())
