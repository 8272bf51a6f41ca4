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
