# SPDX-License-Identifier: Apache-2.0
"""The rows of the matrix, what is known of them so far, and the table."""

import itertools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kill_matrix.chain import Chain
from kill_matrix.victims import Victim

SCENARIOS = {
    "light": "two steps without TensorFlow, Pusher",
    "whole": "ExampleGen, StatisticsGen, SchemaGen, Transform, Tuner, Trainer, Evaluator, Pusher",
    "workers": "the same without Tuner, and a Trainer with two workers",
}
COLUMNS = ("kills", "resumed", "cached", "lost", "wrong", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: what is killed, where it keeps its files, and who dies."""

    scenario: str
    disk: str
    victim: Victim

    def __str__(self) -> str:
        return f"{self.scenario}, {self.disk}, {self.victim}"

    @property
    def folder(self) -> str:
        return f"{self.scenario} {self.victim}".replace(" ", "-")


def list_rows(
    scenarios: Iterable[str], disks: Iterable[str], victims: Iterable[Victim] = tuple(Victim)
) -> list[Row]:
    """Every row; they take turns, so that half a soak shows all of them."""
    return [
        Row(scenario=scenario, disk=disk, victim=victim)
        for victim, disk, scenario in itertools.product(victims, disks, scenarios)
    ]


class Progress:
    """A file with a line for every chain that ended: a soak that was killed goes on after it."""

    def __init__(self, path: Path, header: dict[str, object]) -> None:
        self._path = path
        self.chains: list[tuple[Row, Chain]] = []
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(header)
            return
        first, *lines = path.read_text().split("\n")
        if json.loads(first) != header:
            raise SystemExit(
                f"{path} is of another soak: {first}, not {json.dumps(header)}. Go on with the "
                "same arguments, or give another --folder."
            )
        if lines and lines[-1]:  # killed in the middle of a line
            os.truncate(path, path.stat().st_size - len(lines[-1].encode()))
        self.chains = [_read_line(line) for line in lines[:-1] if line]

    @property
    def num_kills(self) -> int:
        return sum(chain.kills for _, chain in self.chains)

    def add(self, row: Row, chain: Chain) -> None:
        self.chains.append((row, chain))
        self._append({**asdict(row), **asdict(chain)})

    def _append(self, record: dict[str, object]) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(record) + "\n")


def _read_line(line: str) -> tuple[Row, Chain]:
    record = json.loads(line)
    row = Row(
        scenario=record.pop("scenario"),
        disk=record.pop("disk"),
        victim=Victim(record.pop("victim")),
    )
    return row, Chain(**record)


def format_table(chains: Sequence[tuple[Row, Chain]]) -> str:
    """All chains as Markdown: a line per row, and their sum."""
    lines = [
        "| scenario | root | victim | " + " | ".join(COLUMNS) + " |",
        "|---|---|---|" + "---:|" * len(COLUMNS),
    ]
    rows = sorted({row for row, _ in chains}, key=lambda row: (row.scenario, row.disk, row.victim))
    for row in rows:
        of_row = [chain for other, chain in chains if other == row]
        lines.append(f"| {row.scenario} | {row.disk} | {row.victim} | {_sum(of_row)} |")
    lines.append(f"| **all** | | | {_sum([chain for _, chain in chains])} |")
    return "\n".join(lines)


def _sum(chains: Sequence[Chain]) -> str:
    numbers = [
        sum(chain.kills for chain in chains),
        sum(chain.resumed for chain in chains),
        sum(chain.cached for chain in chains),
        sum(len(chain.lost) for chain in chains),
        sum(len(chain.wrong) for chain in chains),
        round(sum(chain.seconds for chain in chains)),
    ]
    return " | ".join(f"{number:,}" for number in numbers)
