# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.fixture
def launcher(kept_fork_servers):
    return kept_fork_servers
