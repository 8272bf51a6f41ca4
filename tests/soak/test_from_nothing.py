# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a project, a run publishes what one from nothing would have.

Random sequences of edits: numbers in code, data, flags, variables, parameters and packages; going
back; damage to what was published and served; kills; edits in the middle of a run. And what does
not matter, such as touching a file or another temporary folder, runs nothing again.

STOKER_SEQUENCES says how many, of which one in fifty is of a project with Transform and Keras.
STOKER_SEQUENCE=123 runs one of them.
"""

import os

import pytest
from from_nothing.oracle import Oracle, compare
from from_nothing.project import Outcome

SEQUENCES = int(os.environ.get("STOKER_SEQUENCES", "2"))
ONE = os.environ.get("STOKER_SEQUENCE")
SEEDS = [int(ONE)] if ONE else range(SEQUENCES)


def check_sequences(kind, seeds, folder):
    oracle = Oracle(kind, folder)
    for seed in seeds:
        rounds = oracle.draw_sequence(seed)
        if problem := oracle.find_difference(rounds):
            shortest = oracle.shrink(rounds, tries=20)
            edits = "\n".join(f"  {edits}" for edits in shortest)
            pytest.fail(f"sequence {seed} of {kind}: {problem}\nIt takes no more than:\n{edits}")


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_every_run_publishes_what_one_from_nothing_would(tmp_path, half):
    check_sequences("light", SEEDS[half::2], tmp_path)


@pytest.mark.slow
@pytest.mark.tf
@pytest.mark.skipif(SEQUENCES < 50, reason="takes a minute each; `make soak` runs them")
@pytest.mark.parametrize("half", [0, 1])
def test_trainings_that_resume_do_too(tmp_path, half):
    check_sequences("trained", range(SEQUENCES // 50)[half::2], tmp_path)


STEPS = ["Trainer", "Pusher"]
EXPECTED = Outcome(status=0, log="", outputs={"Trainer.model": {"weights": "1"}})


def make_outcome(status=0, weights="1", **steps):
    outputs = {"Trainer.model": {"weights": weights}}
    return Outcome(status=status, log="", steps=steps, outputs=outputs)


@pytest.mark.parametrize(
    ("outcome", "problem"),
    [
        (make_outcome(status=1), "failed"),
        (
            make_outcome(weights="2", Trainer="cached", Pusher="cached"),
            "not what a run from nothing",
        ),
        (make_outcome(Trainer="done", Pusher="cached"), "Trainer ran again for nothing"),
        (make_outcome(Trainer="cached", Pusher="done"), ""),
    ],
)
def test_the_oracle_sees_what_is_wrong_and_what_was_needless(outcome, problem):
    said = compare(outcome, EXPECTED, STEPS, may_rerun={"Pusher"})
    assert problem in said
    assert bool(problem) == bool(said)


def test_a_sequence_is_the_same_for_the_same_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_OPEN", "1")
    oracle = Oracle("light", tmp_path)
    drawn = [oracle.draw_sequence(seed) for seed in range(300)]
    assert drawn == [oracle.draw_sequence(seed) for seed in range(300)]
    kinds = {type(edit).__name__ for rounds in drawn for edits in rounds for edit in edits}
    assert len(kinds) == 14
