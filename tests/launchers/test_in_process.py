# SPDX-License-Identifier: Apache-2.0
from bdb import BdbQuit

import pytest

from stoker.any_python.modules import load_module_file
from stoker.dsl import Pipeline, component
from stoker.launchers.in_process import InProcess, forget_modules
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.usefixtures("import_system")


def test_loading_again_sees_edits_of_the_module_and_of_its_neighbours(write):
    neighbour = write("neighbour_4.py", "x = 1")
    module = write("module_4.py", "from neighbour_4 import x\ny = 1")
    forget_modules(str(module))
    first = load_module_file(module)
    write("module_4.py", "from neighbour_4 import x\ny = 2")
    neighbour.write_text("x = 'edited'")
    forget_modules(str(module))
    second = load_module_file(module)
    assert (first.x, first.y, second.x, second.y) == (1, 1, "edited", 2)


def test_modules_that_others_had_loaded_are_kept(write, monkeypatch, tmp_path):
    write("shared_5.py", "class Data: pass")
    monkeypatch.syspath_prepend(tmp_path)
    shared = __import__("shared_5")
    module = write("module_5.py", "from shared_5 import Data")
    forget_modules(str(module))
    load_module_file(module)
    forget_modules(str(module))
    assert load_module_file(module).Data is shared.Data


@component
def debug() -> None:
    raise BdbQuit


def test_to_quit_the_debugger_is_to_stop_the_run(tmp_path):
    pipeline = Pipeline("p", str(tmp_path), components=[debug()])
    with pytest.raises(KeyboardInterrupt, match="Stopped in debug"):
        LocalDagRunner(InProcess()).run(pipeline)
