# SPDX-License-Identifier: Apache-2.0
import ast
from pathlib import Path

import pytest

from stoker.any_python.modules import package_of
from stoker.user_code.imports import find_module, scan


def files_of(module_file, import_paths=()):
    return [Path(file).name for file in scan(module_file, import_paths).files]


def test_neighbours_are_followed_from_file_to_file(write):
    write("constants.py", "import numpy")
    write("features.py", "from constants import *")
    write("unrelated.py")
    module = write("module.py", "import features")
    assert files_of(module) == ["constants.py", "features.py", "module.py"]


def test_packages_and_plain_sub_folders_beside_the_module_are_local(write, tmp_path):
    write("pkg/__init__.py", "from . import inner")
    write("pkg/inner.py")
    write("folder/deep/layers.py")
    module = write("module.py", "import pkg\nfrom folder.deep import layers")
    found = [str(Path(file).relative_to(tmp_path)) for file in scan(module).files]
    assert found == ["folder/deep/layers.py", "module.py", "pkg/__init__.py", "pkg/inner.py"]


def test_a_module_in_a_package_reaches_it_by_relative_and_by_absolute_imports(write):
    write("pkg/__init__.py")
    write("pkg/shared.py")
    write("pkg/models/__init__.py")
    write("pkg/models/layers.py")
    module = write(
        "pkg/models/module.py", "from . import layers\nfrom ..shared import x\nimport pkg.missing"
    )
    assert files_of(module) == [
        "__init__.py",
        "__init__.py",
        "layers.py",
        "module.py",
        "shared.py",
    ]


def test_the_packages_that_a_module_lives_in_are_reached(write):
    write("pkg/__init__.py", "import pyarrow")
    imports = scan(write("pkg/module.py", "import numpy"))
    assert [Path(file).name for file in imports.files] == ["__init__.py", "module.py"]
    assert imports.third_party == ("numpy", "pyarrow")


def test_import_paths_are_local_unless_something_is_installed_there(write, tmp_path):
    write("library/mine.py")
    write("venv/site-packages/theirs.py")
    module = write("code/module.py", "import mine, theirs")
    paths = [str(tmp_path / "library"), str(tmp_path / "venv/site-packages")]
    imports = scan(module, paths)
    assert [Path(file).name for file in imports.files] == ["module.py", "mine.py"]
    assert imports.third_party == ("theirs",)


def test_third_party_modules_come_dotted_and_in_order_of_first_use(write):
    write("features.py", "import pyarrow.csv")
    module = write(
        "module.py",
        """
        import os
        import features
        from sklearn.linear_model import LogisticRegression
        import tensorflow.compat.v2 as tf
        from tfx_bsl.public import tfxio
        import not_installed_anywhere
        import stoker
        from tfx import v1
        """,
    )
    assert scan(module).third_party == (
        "pyarrow.csv",
        "sklearn.linear_model",
        "tensorflow",
        "tfx_bsl.public.tfxio",
    )


def test_imports_in_functions_count_and_those_for_type_checkers_do_not(write):
    module = write(
        "module.py",
        """
        import typing
        if typing.TYPE_CHECKING:
            import pyarrow
        else:
            import numpy
        def run_fn(fn_args):
            import sklearn
        """,
    )
    assert scan(module).third_party == ("numpy", "sklearn")


def test_a_file_that_does_not_parse_leaves_the_rest_known(write):
    write("broken.py", "def (:")
    module = write("module.py", "import broken\nimport numpy")
    imports = scan(module)
    assert [Path(file).name for file in imports.files] == ["broken.py", "module.py"]
    assert imports.third_party == ("numpy",)
    assert list(imports.trees) == [str(module)]
    assert isinstance(imports.trees[str(module)], ast.Module)


def test_a_missing_file_reaches_nothing(tmp_path):
    assert scan(tmp_path / "missing.py").files == ()


def test_files_that_import_each_other_are_read_once(write):
    write("a.py", "import module")
    module = write("module.py", "import a")
    assert files_of(module) == ["a.py", "module.py"]


def test_a_module_file_named_like_a_package_means_the_package_when_it_imports_it(write):
    module = write("numpy.py", "import numpy")
    imports = scan(module)
    assert imports.files == (str(module),)
    assert imports.third_party == ("numpy",)


def test_a_module_is_found_by_name_without_importing_its_parents(write, tmp_path):
    write("parent/__init__.py", "raise RuntimeError('imported')")
    module = write("parent/child.py")
    assert find_module("parent.child", [str(tmp_path)]) == str(module)
    assert find_module("parent", [str(tmp_path)]) == str(tmp_path / "parent/__init__.py")
    assert find_module("parent.child.function", [str(tmp_path)]) is None
    assert find_module("nowhere.child", [str(tmp_path)]) is None


@pytest.mark.parametrize(
    ("inits", "expected"),
    [
        ([], ("a/b", "module")),
        (["a/b"], ("a", "b.module")),
        (["a", "a/b"], ("", "a.b.module")),
    ],
)
def test_a_package_is_as_many_folders_as_have_an_init(write, tmp_path, inits, expected):
    module = write("a/b/module.py")
    for folder in inits:
        write(f"{folder}/__init__.py")
    root, name = package_of(module)
    assert (Path(root), name) == (tmp_path / expected[0], expected[1])


def test_a_folder_whose_name_no_import_can_say_is_no_package(write, tmp_path):
    write("my-pipelines/__init__.py")
    write("my-pipelines/steps/__init__.py")
    root, name = package_of(write("my-pipelines/steps/module.py"))
    assert (Path(root), name) == (tmp_path / "my-pipelines", "steps.module")


def test_reading_imports_loads_no_tensorflow(write, run_python):
    module = write("module.py", "import tensorflow as tf\nx = tf.keras")
    run_python(
        f"""
        import os, sys
        from stoker.patches.tensorflow_transform import tolerate_pop
        from stoker.any_python import modules
        from stoker.user_code import imports, keras_choice
        imports.scan({str(module)!r})
        assert keras_choice.choose_keras({str(module)!r}, environ=os.environ).tensorflow
        tolerate_pop()
        assert not {{"tensorflow", "keras", "numpy", "tensorflow_transform"}} & set(sys.modules)
        """
    )


def test_a_file_is_read_again_only_after_a_change(write):
    module = write("module.py", "import helper")
    first = scan(module)
    assert scan(module) is first
    write("helper.py", "import numpy")
    second = scan(module)
    assert [Path(file).name for file in second.files] == ["helper.py", "module.py"]
    write("helper.py", "import numpy.random")
    assert scan(module).third_party == ("numpy.random",)
