# SPDX-License-Identifier: Apache-2.0
"""The tests of `on_ray_shards.py`, in a process of their own, as those of `on_ray_nodes.py` are."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.tf,
    pytest.mark.slow,
    pytest.mark.envs,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]

TESTS = Path(__file__).with_name("on_ray_shards.py")


def test_data_steps_on_three_nodes_do_what_they_do_here():
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0
    assert "4 passed" in done.stdout
