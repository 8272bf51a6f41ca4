# SPDX-License-Identifier: Apache-2.0
from stoker.dsl.definitions import definition_in

CELLS = [
    "import os, sys\nLIMIT = 3\nresult = run_everything()",
    "def near(x):\n    return x < 0",
    "this is no Python",
    "def near(x):\n    return x < LIMIT",
    "@os.wraps\ndef step(path: sys.Path):\n    result = near(path)\n    return result",
]


def test_a_definition_comes_with_what_it_uses_and_no_more():
    used = [CELLS[0].rpartition("\n")[0], CELLS[3], CELLS[4]]
    assert definition_in(CELLS, "step") == "\n".join(used)


def test_what_is_not_defined_has_no_source():
    assert definition_in(CELLS, "nothing") is None
