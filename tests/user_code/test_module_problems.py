# SPDX-License-Identifier: Apache-2.0
"""What is said of a module file before it is loaded."""

from stoker.user_code.problems import find_problems


def test_a_module_file_that_is_not_there_is_told_with_the_one_that_was_meant(tmp_path):
    (tmp_path / "pipline").mkdir()
    (tmp_path / "pipline" / "trainer_module.py").write_text("")
    (problem,) = find_problems(str(tmp_path / "pipeline" / "trainer_module.py"))
    assert problem.endswith(" Did you mean its folder to be 'pipline'?")
    (problem,) = find_problems(str(tmp_path / "pipline" / "trainer_modul.py"))
    assert problem.endswith(" Did you mean 'trainer_module.py'?")


def test_one_like_no_other_is_told_alone(tmp_path):
    (tmp_path / "other.py").write_text("")
    (problem,) = find_problems(str(tmp_path / "preprocessing.py"))
    assert problem == f"there is no module file {tmp_path}/preprocessing.py. Check module_file."


def test_a_package_that_is_missing_is_told_once_with_how_to_have_it(tmp_path):
    (tmp_path / "module.py").write_text("import no_such\nfrom no_such.parts import one\n")
    (problem,) = find_problems(str(tmp_path / "module.py"))
    assert "line 1: No module named 'no_such'." in problem
    assert "perhaps pip install no-such" in problem


def test_a_module_that_tensorflow_has_no_more_is_told_with_the_environment_that_has_it(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("from tensorflow.python.keras.estimator import model_to_estimator\n")
    (problem,) = find_problems(str(module))
    assert "line 1: today's TensorFlow has no tensorflow.python.keras.estimator." in problem
    assert "Use tensorflow.keras.estimator, or the environment that has it" in problem
    assert "stoker env create tf-2.15" in problem
    module.write_text("import tensorflow.contrib.slim\n")
    (problem,) = find_problems(str(module))
    assert "stoker env create tf-1.15" in problem


def test_what_tensorflow_still_has_is_not_told(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "from tensorflow.python.keras import Input\n"
        "from tensorflow.python.framework.ops import Tensor\n"
        "import tensorflow.keras.layers\n"
        "import tensorflow.python.tpu.tpu_estimator\n"
    )
    assert find_problems(str(module)) == []


def test_a_package_that_a_neighbour_imports_is_told_before_the_module_is_loaded(tmp_path):
    (tmp_path / "steps").mkdir()
    (tmp_path / "module.py").write_text("from steps import features\n")
    (tmp_path / "steps" / "features.py").write_text("import os\nimport no_such\n")
    (problem,) = find_problems(str(tmp_path / "module.py"))
    assert problem.startswith(f"{tmp_path}/steps/features.py, line 2: No module named 'no_such'.")


def test_a_neighbour_that_only_a_function_imports_may_never_be_loaded(tmp_path):
    (tmp_path / "module.py").write_text("def plot():\n    import drawing\n")
    (tmp_path / "drawing.py").write_text("import no_such\n")
    assert find_problems(str(tmp_path / "module.py")) == []


def test_a_module_that_changes_the_path_may_find_what_its_neighbour_imports(tmp_path):
    (tmp_path / "module.py").write_text("import sys\nsys.path.append('/x')\nimport features\n")
    (tmp_path / "features.py").write_text("import no_such\n")
    assert find_problems(str(tmp_path / "module.py")) == []


def test_a_file_of_ones_own_that_is_not_there_is_told(tmp_path):
    (tmp_path / "project").mkdir()
    module = tmp_path / "project" / "preprocess.py"
    module.write_text("import os\n\nfrom . import utils\n")
    (problem,) = find_problems(str(module))
    assert problem == (
        f"{module}, line 3: project has no utils: put utils.py into its folder, or leave the "
        "import out."
    )
    (tmp_path / "project" / "utils.py").touch()
    assert find_problems(str(module)) == []
    module.write_text("from project.helpers.more import one\n")
    (problem,) = find_problems(str(module), import_paths=[str(tmp_path)])
    assert f"{module}, line 1: project has no helpers:" in problem


def test_what_a_package_has_in_its_init_is_not_told(tmp_path):
    (tmp_path / "project").mkdir()
    module = tmp_path / "project" / "preprocess.py"
    module.write_text("from project import KEYS\nfrom project.names import LABEL\n")
    (tmp_path / "project" / "__init__.py").write_text("KEYS = ['a']\n")
    (tmp_path / "project" / "names.py").write_text("from project import *\n")
    assert find_problems(str(module)) == []
    module.write_text("from project import made_late\n")
    (tmp_path / "project" / "__init__.py").write_text("def __getattr__(name): ...\n")
    assert find_problems(str(module)) == []
