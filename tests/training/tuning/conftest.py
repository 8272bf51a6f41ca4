# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.fixture
def launcher(kept_templates):
    return kept_templates
