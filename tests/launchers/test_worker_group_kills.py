# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the chief or of another worker in the middle of training: it ends by itself.

STOKER_KILLS says how often each of them is killed, each time at another step.
"""

import os
import random
import signal
from pathlib import Path

import pytest
from killed_training import (
    CHECKPOINT_SECONDS,
    NUM_STEPS,
    check_steps,
    steps_of,
    train,
    train_and_kill,
)

from stoker.errors import StepFailed
from stoker.task import Workers

pytestmark = [pytest.mark.tf, pytest.mark.slow]

KILLS = int(os.environ.get("STOKER_KILLS", "1"))


def kill(victim):
    return lambda notes: os.kill(steps_of(notes, victim)[-1][2], signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc")
@pytest.mark.parametrize("victim", ["chief", "worker"])
def test_training_ends_by_itself_with_the_right_number_of_steps(tmp_path, monkeypatch, victim):
    monkeypatch.setenv("STOKER_CHECKPOINT_SECONDS", str(CHECKPOINT_SECONDS))
    chance = random.Random(victim)
    for number in range(KILLS):
        step = chance.randrange(2, NUM_STEPS - 5)
        killed_at, notes = train_and_kill(tmp_path / str(number), step, kill(victim))
        check_steps(notes, killed_at)


def test_a_process_that_does_not_join_the_others_is_found_by_the_deadline(tmp_path):
    with pytest.raises(StepFailed, match=r"worker-0 \(process \d+ .*has not made the strategy"):
        train(tmp_path, Workers(2, join_seconds=10), missing="worker")
