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


# With a node, the host and the process on it are lost as well.
@pytest.mark.parametrize(
    ("lost", "num_tests"),
    [("kill_node", 1), pytest.param("kill_process or kill_host", 2, marks=pytest.mark.envs)],
)
def test_training_goes_on_whatever_is_lost(lost, num_tests):
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-k", lost]
    done = subprocess.run([*command, str(TESTS)], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0
    assert f"{num_tests} passed" in done.stdout
