# SPDX-License-Identifier: Apache-2.0
from stoker.dsl.definitions import find_definition

CELLS = [
    "import os, sys\nLIMIT = 3\nresult = run_everything()",
    "def near(x):\n    return x < 0",
    "this is no Python",
    "def near(x):\n    return x < LIMIT",
    "@os.wraps\ndef step(path: sys.Path):\n    result = near(path)\n    return result",
]


def test_a_definition_comes_with_what_it_uses_and_no_more():
    used = [CELLS[0].rpartition("\n")[0], CELLS[3], CELLS[4]]
    assert find_definition(CELLS, "step") == "\n".join(used)


def test_an_import_that_a_later_cell_repeats_comes_before_what_uses_it():
    cells = [
        "from tfx import types",
        "class Do:\n    kind: types.Artifact",
        "from tfx import types",
    ]
    assert find_definition(cells, "Do") == "\n".join(cells[:2])


def test_what_is_not_defined_has_no_source():
    assert find_definition(CELLS, "nothing") is None


def test_what_changes_an_object_comes_with_it():
    cells = [
        "config = {}\nnames = []\nfolder = Path('x')",
        "config['old'] = 1",
        "config = {'rate': 1}\nclass Settings: pass",
        "def rate():\n    return 2",
        "config['rate'] = rate()\nnames.append('a')\nother['x'] = 1\nfolder.mkdir()",
        "Settings.rate = 3\nnames += ['b']\nprint(config)",
        "def step():\n    return config, names, folder, Settings",
        "context.run(step())",
    ]
    assert find_definition(cells, "step").splitlines() == [
        "names = []",
        "folder = Path('x')",
        "config = {'rate': 1}",
        "class Settings:",
        "    pass",
        "def rate():",
        "    return 2",
        "config['rate'] = rate()",
        "names.append('a')",
        "Settings.rate = 3",
        "names += ['b']",
        "def step():",
        "    return (config, names, folder, Settings)",
    ]
