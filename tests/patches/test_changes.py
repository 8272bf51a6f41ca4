# SPDX-License-Identifier: Apache-2.0
import importlib
import sys
from types import SimpleNamespace

import pytest

from stoker.patches.changes import after_import, import_as, import_when_used, replace

pytestmark = pytest.mark.usefixtures("import_system")


def mark(module):
    module.marks = [*getattr(module, "marks", ()), "changed"]


@pytest.fixture
def library(write, tmp_path, monkeypatch):
    """A third party that is installed."""
    name = f"library_{tmp_path.name.replace('-', '_')}"
    write(f"{name}/__init__.py", "found = 'its own'")
    write(f"{name}/part.py", "VALUE = 1")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_replacement_is_there_until_it_is_undone():
    owner = SimpleNamespace(work=lambda: "old")
    with replace(owner, "work", lambda: "new"):
        assert owner.work() == "new"
    assert owner.work() == "old"


def test_what_was_inherited_is_inherited_again():
    class Base:
        def work(self): ...

    class Owner(Base): ...

    undo = replace(Owner, "work", None)
    assert Owner.work is None
    undo.close()
    assert "work" not in vars(Owner)
    assert Owner.work is Base.work


def test_a_static_method_stays_one():
    class Owner:
        @staticmethod
        def work():
            return "old"

    replace(Owner, "work", None).close()
    assert Owner().work() == "old"


def test_a_change_follows_the_import_and_does_not_cause_it(library):
    after_import(library, mark)
    after_import(library, mark)
    assert library not in sys.modules
    module = importlib.import_module(library)
    assert (module.found, module.marks) == ("its own", ["changed"])
    assert importlib.import_module(f"{library}.part").VALUE == 1


def test_a_module_that_has_been_imported_is_changed_at_once(library):
    module = importlib.import_module(library)
    after_import(library, mark)
    assert module.marks == ["changed"]


def test_one_finder_serves_all(library):
    before = len(sys.meta_path)
    for name in (library, f"{library}.part"):
        after_import(name, mark)
    import_as("no_such_name", [library])
    assert len(sys.meta_path) <= before + 1


def test_what_is_not_installed_is_not_found():
    after_import("no_such_library", mark)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_library")


def test_a_name_means_another_package_and_all_that_is_in_it(library):
    other = f"other_{library}"
    import_as(other, [library])
    part = importlib.import_module(f"{other}.part")
    assert part is importlib.import_module(f"{library}.part")
    assert importlib.import_module(other) is importlib.import_module(library)
    with pytest.raises(ModuleNotFoundError, match=f"{other}.nothing"):
        importlib.import_module(f"{other}.nothing")


def test_a_module_is_executed_when_a_name_of_it_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "put_off_sample.py").write_text("import sys\nsys.put_off_runs = 1\nx = 2\n")
    import_when_used("put_off_sample")
    import put_off_sample

    assert put_off_sample is importlib.import_module("put_off_sample")
    assert not hasattr(sys, "put_off_runs")
    assert put_off_sample.x == 2
    assert vars(sys).pop("put_off_runs") == 1
    with pytest.raises(AttributeError, match="has no attribute 'y'"):
        _ = put_off_sample.y
