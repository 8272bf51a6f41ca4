# SPDX-License-Identifier: Apache-2.0
"""The tests of `on_ray_nodes.py`, in a process of their own.

Ray keeps the token of the first cluster that a process has seen, and a cluster of test nodes leaves
a handler of signals behind.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.tf,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]

TESTS = Path(__file__).with_name("on_ray_nodes.py")


def test_training_goes_on_whatever_is_lost():
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0
    assert "3 passed" in done.stdout
