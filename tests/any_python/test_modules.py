# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

from stoker.any_python import modules
from stoker.any_python.modules import load_dotted, load_function, load_module_file, load_object

pytestmark = pytest.mark.usefixtures("import_system")


@pytest.fixture(autouse=True)
def no_earlier_loads(monkeypatch):
    monkeypatch.setattr(modules, "_pipeline_files", {})


def test_neighbours_packages_and_sub_folders_are_importable(write):
    write("neighbour_1.py", "x = 1")
    write("package_1/__init__.py")
    write("package_1/inner.py", "x = 2")
    write("folder_1/plain.py", "x = 3")
    module = write(
        "module_1.py",
        """
        import neighbour_1
        from package_1 import inner
        def late():
            from folder_1 import plain
            return neighbour_1.x, inner.x, plain.x
        """,
    )
    assert load_module_file(module).late() == (1, 2, 3)


def test_a_module_in_a_package_gets_its_dotted_name_and_relative_imports(write):
    write("pkg_2/__init__.py", "x = 1")
    write("pkg_2/sub/__init__.py")
    write("pkg_2/sub/beside.py", "x = 2")
    module = write(
        "pkg_2/sub/module.py", "from .. import x\nfrom .beside import x as y\nimport beside"
    )
    loaded = load_module_file(module)
    assert loaded.__name__ == "pkg_2.sub.module"
    assert (loaded.x, loaded.y, loaded.beside.x) == (1, 2, 2)
    assert sys.modules["pkg_2.sub"].module is loaded


def test_folders_that_relative_imports_reach_are_a_package_without_init_files(write):
    write("pkg_without_init/constants.py", "x = 1")
    write("pkg_without_init/sub/beside.py", "x = 2")
    module = write(
        "pkg_without_init/sub/module.py",
        "from ..constants import x\nfrom .beside import x as y\nimport beside",
    )
    loaded = load_module_file(module)
    assert loaded.__name__ == "pkg_without_init.sub.module"
    assert (loaded.x, loaded.y, loaded.beside.x) == (1, 2, 2)


def test_a_file_need_not_end_in_py(write):
    assert load_module_file(write("module_file_without_suffix", "x = 1")).x == 1


def test_a_name_that_is_taken_does_not_shadow_the_other_module(write):
    module = write("statistics.py", "from statistics import mean\ndef run_fn(a): return mean(a)")
    sys.modules.pop("statistics", None)
    assert load_function(module)([1, 3]) == 2
    assert Path(sys.modules["statistics"].__file__) != module


def test_a_package_whose_name_is_taken_is_not_entered(write):
    write("json/__init__.py", "raise RuntimeError('entered')")
    assert load_module_file(write("json/module_3.py", "x = 1")).__name__ == "module_3"


def test_a_missing_file_is_named():
    with pytest.raises(ValueError, match=r"no module file /nowhere/module\.py"):
        load_module_file("/nowhere/module.py")


def test_a_missing_function_is_told_with_those_that_are_there(write):
    module = write(
        "module_6.py", "from os import getcwd\ndef train(a): ...\ndef _hidden(): ...\nX = 1"
    )
    with pytest.raises(ValueError, match=r"defines no run_fn or main; it has train\. Define"):
        load_function(module, names=("run_fn", "main"))


def test_what_is_not_callable_is_refused(write):
    with pytest.raises(ValueError, match=r"run_fn in .* is not a function but int: 3"):
        load_function(write("module_7.py", "run_fn = 3"))


def test_the_first_of_several_names_is_taken(write):
    module = write("module_8.py", "def b(): return 'b'\ndef c(): return 'c'")
    assert load_function(module, names=("a", "b", "c"))() == "b"


@pytest.mark.parametrize("arguments", [{}, {"module_file": "m.py", "path": "a.b"}])
def test_a_function_comes_from_one_place(arguments):
    with pytest.raises(ValueError, match="either a module file or a dotted function"):
        load_function(**arguments)


def test_errors_of_the_users_module_pass_through(write):
    with pytest.raises(ZeroDivisionError) as caught:
        load_module_file(write("module_9.py", "\n\n1 / 0"))
    last = caught.traceback[-1]
    assert (last.path.name, last.lineno + 1) == ("module_9.py", 3)
    assert "module_9" not in sys.modules
    with pytest.raises(SyntaxError):
        load_module_file(write("module_10.py", "def (:"))


def test_a_dotted_function_is_imported(write, monkeypatch, tmp_path):
    write("pkg_11/mod.py", "def run_fn(a): return a\nX = 1")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_dotted("pkg_11.mod.run_fn")(5) == 5
    assert load_function(path="pkg_11.mod.run_fn")(5) == 5
    with pytest.raises(ValueError, match=r"pkg_11\.mod defines no other; it has run_fn\."):
        load_dotted("pkg_11.mod.other")
    with pytest.raises(ValueError, match=r"pkg_11\.mod\.X is not a function"):
        load_dotted("pkg_11.mod.X")
    with pytest.raises(ValueError, match="names no module"):
        load_dotted("run_fn")
    with pytest.raises(ModuleNotFoundError):
        load_dotted("pkg_11.nothing.run_fn")


def test_what_a_pipeline_file_defines_loads_once_and_without_its_main_guard(write):
    pipeline = write(
        "pipeline.py",
        """
        class Step:
            class Inner: ...
        if __name__ == '__main__':
            raise SystemExit('ran')
        """,
    )
    step = load_object(f"{pipeline}:Step")
    assert load_object(f"{pipeline}:Step") is step
    assert load_object(f"{pipeline}:Step.Inner") is step.Inner
    assert sys.modules[step.__module__].Step is step


def test_two_pipeline_files_do_not_take_each_others_place(write):
    one = load_object(f"{write('one/pipeline.py', 'class A: ...')}:A")
    two = load_object(f"{write('two/pipeline.py', 'class A: ...')}:A")
    assert one is not two
    assert sys.modules[one.__module__].A is one


def test_an_object_is_loaded_from_an_installed_module():
    assert load_object("stoker.artifacts:Model").TYPE_NAME == "Model"


@pytest.mark.parametrize("reference", ["", "no_colon", ":Name", "module:"])
def test_a_reference_that_names_nothing_is_refused(reference):
    with pytest.raises(ValueError, match="should be"):
        load_object(reference)


def test_a_missing_object_or_pipeline_file_is_named(write):
    with pytest.raises(ValueError, match=r"defines no Step\. A step's function or class"):
        load_object(f"{write('pipeline.py')}:Step")
    with pytest.raises(ValueError, match=r"no pipeline file /nowhere\.py"):
        load_object("/nowhere.py:Step")


def test_the_program_that_runs_is_not_loaded_a_second_time(write, run_python):
    pipeline = write(
        "pipeline.py",
        """
        from absl import app, flags
        from stoker.any_python.modules import load_object
        flags.DEFINE_integer('rows', 1, 'How many.')
        class Step: ...
        def main(argv):
            assert load_object(f"{__file__}:Step") is Step
        if __name__ == '__main__':
            app.run(main)
        """,
    )
    run_python("import runpy, sys; runpy.run_path(sys.argv.pop(), run_name='__main__')", pipeline)
