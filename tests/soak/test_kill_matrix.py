# SPDX-License-Identifier: Apache-2.0
"""A cut of the soak: the same program, one kill of each kind. `make soak` is all of it.

STOKER_KILLS says how many times as many.
"""

import os
from pathlib import Path

import pytest
from kill_matrix.__main__ import main
from kill_matrix.victims import Victim

pytestmark = [
    pytest.mark.tf,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]

TIMES = int(os.environ.get("STOKER_KILLS", "1"))


@pytest.mark.parametrize(
    ("num_kills", "choice"),
    [
        pytest.param(len(Victim), ["light"], id="light, whoever dies"),
        pytest.param(1, ["whole", "--victims", "worker"], id="whole", marks=pytest.mark.envs),
        pytest.param(1, ["workers", "--victims", "worker"], id="workers", marks=pytest.mark.envs),
    ],
)
def test_nothing_is_lost_or_wrong(tmp_path, num_kills, choice, capfd):
    kills = ["--kills", str(num_kills * TIMES), "--chain", "1", "1", "--folder", str(tmp_path)]
    arguments = [*kills, "--disks", "local", "--scenarios", *choice]
    assert main(arguments) == 0, capfd.readouterr().err
