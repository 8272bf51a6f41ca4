# SPDX-License-Identifier: Apache-2.0
"""tfx_bsl where it is not installed: options are there, and the rest says what to install."""

import os
import subprocess
import sys

import pytest

import stoker

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(stoker.__file__)))
ON_PATH = os.path.join(SOURCE_DIR, "stoker", "stand_ins", "on_path")
WITHOUT = (
    "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; "
    f"sys.path += [{SOURCE_DIR!r}, {ON_PATH!r}]; "
)


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_module_finds_the_options():
    done = python(
        WITHOUT + "from tfx_bsl.public import tfxio; from tfx_bsl.tfxio import dataset_options; "
        "import tfx_bsl; assert tfx_bsl.public.tfxio is tfxio; "
        "print(tfxio.TensorFlowDatasetOptions(batch_size=2, label_key='y').num_epochs, "
        "dataset_options.RecordBatchesOptions(3).batch_size)"
    )
    assert done.stdout == "None 3\n", done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "from tfx_bsl.public import tfxio; tfxio.TFExampleRecord",
        "from tfx_bsl.public.tfxio import TensorAdapter",
        "from tfx_bsl.public import proto",
    ],
)
def test_the_rest_says_which_extra_has_it(code):
    done = python(WITHOUT + code)
    assert "pip install 'stoker[transform]'" in done.stderr.splitlines()[-1]


def test_an_installed_one_wins_even_where_the_stand_in_comes_first(tmp_path):
    (tmp_path / "tfx_bsl" / "public").mkdir(parents=True)
    (tmp_path / "tfx_bsl" / "__init__.py").write_text("__version__ = 'real'\n")
    (tmp_path / "tfx_bsl" / "public" / "__init__.py").write_text("NAME = __name__\n")
    done = python(
        WITHOUT + f"sys.path.append({str(tmp_path)!r}); import tfx_bsl.public; "
        "print(tfx_bsl.__version__, tfx_bsl.public.NAME)"
    )
    assert done.stdout == "real tfx_bsl.public\n", done.stderr
