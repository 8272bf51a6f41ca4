# SPDX-License-Identifier: Apache-2.0
"""What README and docs say to do is done as they say it: each block alone, in an empty folder."""

import pytest
from snippets import PAGES, find_chains

pytestmark = pytest.mark.slow

CHAINS = [chain for page in PAGES for chain in find_chains(page)]


@pytest.mark.parametrize("chain", CHAINS, ids=[chain[0].place for chain in CHAINS])
def test_a_snippet_runs_alone_in_an_empty_folder(chain, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    for snippet in chain:
        snippet.run(folder)
