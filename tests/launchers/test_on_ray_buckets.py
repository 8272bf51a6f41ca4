# SPDX-License-Identifier: Apache-2.0
"""The test of `on_ray_buckets.py`, in a process of its own, as for `on_ray_nodes.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.envs

TESTS = Path(__file__).with_name("on_ray_buckets.py")


def test_nodes_that_share_no_folder_train_over_a_bucket():
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0
    assert "1 passed" in done.stdout
