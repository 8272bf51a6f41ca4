# SPDX-License-Identifier: Apache-2.0
"""The oracle: after every edit a run, and what it published is compared with a run from nothing."""

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from from_nothing.edits import ALL, Edit, draw_edit, is_open
from from_nothing.project import Outcome, Project

STEPS = {
    "light": ("CsvExampleGen", "StatisticsGen", "summarize", "Trainer", "CustomTrainer", "Pusher"),
    "trained": ("CsvExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer", "Pusher"),
}


class Oracle:
    """Knows what a project makes from nothing; what it has seen once it need not run again."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._known: dict[tuple[tuple[str, int], ...], Outcome] = {}

    def draw_sequence(self, seed: object) -> list[list[Edit]]:
        """Some rounds of edits; after each there will be a run."""
        chance = random.Random(f"{seed}")
        return [self._draw_round(chance) for _ in range(chance.randint(3, 6))]

    def _draw_round(self, chance: random.Random) -> list[Edit]:
        num_edits = chance.choice([1, 1, 1, 2, 3])
        drawn = [draw_edit(chance, self._kind, STEPS[self._kind]) for _ in range(num_edits)]
        return [edit for edit in drawn if "STOKER_OPEN" in os.environ or not is_open(edit)]

    def find_difference(self, rounds: Sequence[Sequence[Edit]]) -> str:
        """What a run made that one from nothing would not have; empty if there is nothing."""
        folder = self._folder / "project"
        shutil.rmtree(folder, ignore_errors=True)
        project = Project(self._kind, folder)
        for number, edits in enumerate([[], *rounds]):
            may_rerun: set[str] = set(ALL if number == 0 else ())
            for edit in edits:
                may_rerun |= edit.may_rerun()
                edit.apply(project)
            project.history.append(dict(project.numbers))
            outcome = project.run()
            expected = self._run_from_nothing(project)
            if problem := compare(outcome, expected, STEPS[self._kind], may_rerun):
                return f"round {number}: {problem}\n{outcome.log}"
        return ""

    def shrink(self, rounds: Sequence[Sequence[Edit]], *, tries: int) -> list[list[Edit]]:
        """A shorter sequence that shows a difference too, as far as a few tries find one."""
        shortest = [list(edits) for edits in rounds]
        for number in reversed(range(len(shortest))):
            for position in reversed(range(len(shortest[number]))):
                if tries == 0:
                    return shortest
                tries -= 1
                shorter = [list(edits) for edits in shortest]
                del shorter[number][position]
                if self.find_difference(shorter):
                    shortest = shorter
        return shortest

    def _run_from_nothing(self, project: Project) -> Outcome:
        numbers = tuple(project.numbers.items())
        if numbers not in self._known:
            outcome = project.run_from_nothing()
            assert outcome.status == 0, outcome.log
            self._known[numbers] = outcome
        return self._known[numbers]


def compare(outcome: Outcome, expected: Outcome, steps: Sequence[str], may_rerun: set[str]) -> str:
    """In words, how a run differs from one from nothing, or what it did for nothing."""
    if outcome.status != 0:
        return f"the run failed with {outcome.status}"
    for name, files in expected.outputs.items():
        if outcome.outputs.get(name) != files:
            return f"{name} is not what a run from nothing makes"
    if may_rerun & ALL:
        return ""
    needless = [
        step for step in steps if outcome.steps.get(step) != "cached" and step not in may_rerun
    ]
    return f"{', '.join(needless)} ran again for nothing" if needless else ""
