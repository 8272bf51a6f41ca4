# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.launchers.processes import Processes


class KeptWarm(Processes):
    """Its templates serve several runs: importing TensorFlow takes longer than a small search."""

    def close(self):
        pass


@pytest.fixture(scope="session")
def launcher():
    kept = KeptWarm()
    yield kept
    Processes.close(kept)
