# SPDX-License-Identifier: Apache-2.0
"""A cut of the soak: the same program, a few kills of each kind. `make soak` is all of it.

STOKER_KILLS says how many times as many.
"""

import os
from pathlib import Path

import pytest
from kill_matrix.__main__ import main

pytestmark = [
    pytest.mark.tf,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]

TIMES = int(os.environ.get("STOKER_KILLS", "1"))


@pytest.mark.parametrize(
    ("num_kills", "choice"),
    [
        pytest.param(25, ["--scenarios", "light"], id="light, whoever dies"),
        pytest.param(4, ["--scenarios", "whole", "--victims", "worker"], id="whole"),
        pytest.param(3, ["--scenarios", "workers", "--victims", "worker"], id="workers"),
    ],
)
def test_nothing_is_lost_or_wrong(tmp_path, num_kills, choice, capfd):
    disks = [] if "light" in choice else ["--disks", "local"]
    kills = ["--kills", str(num_kills * TIMES), "--folder", str(tmp_path)]
    assert main([*kills, *choice, *disks]) == 0, capfd.readouterr().err
