# SPDX-License-Identifier: Apache-2.0
"""What every interpreter reads as it starts: programs with TFX's libraries have what they lost."""

import os
import shutil
import subprocess
import sys

import pytest

import stoker.stand_ins
from stoker.cli.checking.names import PROVIDERS

STAND_INS = os.path.dirname(stoker.stand_ins.__file__)
PTH = os.path.join(STAND_INS, "stoker_stand_ins.pth")
PROVIDE = "print('stoker.stand_ins.provide' in sys.modules)"


def run(*arguments, cwd=None):
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def library(tmp_path):
    """A folder with a tfx_bsl of its own, which needs no TensorFlow."""
    (tmp_path / "tfx_bsl.py").write_text("NAME = 'real'")
    return tmp_path


def test_an_interpreter_that_starts_imports_nothing_of_stoker():
    done = run("-c", "import sys; print([one for one in sys.modules if 'stoker' in one])")
    assert done.stdout == "['_stoker_on_import']\n", "make .venv again: its .pth is of before"


@pytest.mark.parametrize("alone", ["-S", "-IS"])
def test_python_without_site_does_not_know_of_it(alone):
    assert "stoker" not in run(alone, "-c", "import sys; print([*sys.modules])").stdout


def test_only_a_library_of_tfx_s_brings_it(library):
    assert run("-c", f"import sys, json, csv; {PROVIDE}").stdout == "False\n"
    done = run("-c", f"import sys, tfx_bsl; print(tfx_bsl.NAME); {PROVIDE}", cwd=library)
    assert done.stdout == "real\nTrue\n"


@pytest.mark.parametrize("package", ["tfx", "tfx_bsl", "tensorflow_data_validation"])
def test_it_waits_no_longer_than_for_the_first_of_them(library, package):
    left = "[one for one in sys.meta_path if 'stoker_on' in type(one).__module__]"
    done = run(
        "-c", f"import sys; print(len({left})); import {package}; print({left})", cwd=library
    )
    assert done.stdout == "1\n[]\n"


def test_a_library_is_found_where_stoker_was_uninstalled_meanwhile(library):
    gone = "sys.path = [one for one in sys.path if not os.path.isdir(f'{one}/stoker')]"
    done = run("-c", f"import os, sys; {gone}; import tfx_bsl; print(tfx_bsl.NAME)", cwd=library)
    assert (done.stdout, done.stderr) == ("real\n", "")


def test_the_line_that_is_left_of_an_uninstalled_stoker_is_silent(tmp_path):
    shutil.copy(PTH, tmp_path)
    code = f"import site, sys; site.addsitedir({str(tmp_path)!r}); print(len(sys.meta_path))"
    done = run("-S", "-c", code)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_the_check_knows_the_libraries():
    import _stoker_on_import

    assert {"tfx", *_stoker_on_import._LIBRARIES} == set(PROVIDERS)


@pytest.mark.tf
def test_a_program_with_tensorflow_transform_alone_has_what_was_lost(tmp_path):
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\n"
        "import tensorflow_transform as tft\n"
        "from tensorflow_transform.tf_metadata import dataset_metadata, dataset_schema\n"
        "schema = dataset_schema.from_feature_spec({'x': tf.FixedLenFeature([], tf.float32)})\n"
        "print(dataset_metadata.DatasetMetadata(schema).schema.feature[0].name, tf.Session)\n"
        "print(tft.uniques, tf.keras.__version__, tf.keras.optimizers.Adam(lr=0.5).lr.numpy())\n"
    )
    first, second = run("program.py", cwd=tmp_path).stdout.splitlines()
    assert first.startswith("x <class")
    assert second.endswith(" 2.21.0 0.5")
