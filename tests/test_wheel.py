# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[1]
CONFIGURATION = """
import sys
import tensorflow_model_analysis as tfma
from google.protobuf import json_format, text_format
from tensorflow_model_analysis.proto import config_pb2

config = tfma.EvalConfig(model_specs=[tfma.ModelSpec(label_key="tips")])
text = 'model_specs { label_key: "tips" }'
assert text_format.Parse(text, tfma.EvalConfig()) == config
assert json_format.Parse(json_format.MessageToJson(config), config_pb2.EvalConfig()) == config
assert not {"tensorflow", "apache_beam"} & sys.modules.keys()
print(tfma.__file__)
"""
BESIDE_THE_REAL_ONE = """
import tensorflow_model_analysis as tfma
from tfx import v1 as tfx

print(tfma.EvalConfig, tfma.AUC)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment of its own with the wheel in it, above what this one has."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    with_pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder)]
    build = [uv, "build", "--wheel", "--out-dir", str(folder)] if uv else with_pip
    built = subprocess.run([*build, str(REPOSITORY)], capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"The wheel cannot be built here: {built.stderr[-500:]}")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    own = next((folder / "env" / "lib").glob("python*/site-packages"))
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(own)
    # The .pth of an editable install below is not read: only this environment's own are.
    (own / "zz_below.pth").write_text("\n".join([*site.getsitepackages(), ""]))
    return own


def python_of(own):
    return own.parents[2] / "bin" / "python"


def run(python, code):
    command = [str(python), "-P", "-c", code]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_wheel_brings_tfma_s_configuration(installed):
    assert run(python_of(installed), CONFIGURATION) == str(
        installed / "stoker" / "stand_ins" / "on_path" / "tensorflow_model_analysis" / "__init__.py"
    )


def test_a_wheel_lets_a_library_of_tfx_s_have_what_it_lost(installed):
    found = "'stoker.stand_ins.provide' in sys.modules"
    code = f"import sys; print({found}); import tfx_bsl; print({found})"
    assert run(python_of(installed), code).split() == ["False", "True"]


def test_a_wheel_brings_the_tfx_command_with_its_templates(installed, tmp_path):
    (scripts,) = installed.glob("stoker-*.dist-info/entry_points.txt")
    assert "\ntfx = stoker.cli.tfx_command:main" in scripts.read_text()
    words = ["--pipeline_name=p", f"--destination_path={tmp_path}", "--model=taxi"]
    copy = f"from stoker.cli.tfx_command import main; main({['template', 'copy', *words]})"
    run(python_of(installed), copy)
    assert {"local_runner.py", "data", "data_validation.ipynb"} <= set(os.listdir(tmp_path))


def test_a_wheel_s_text_for_the_package_index_has_no_link_that_breaks_there(installed):
    (metadata,) = installed.glob("stoker-*.dist-info/METADATA")
    text = metadata.read_text()
    assert "# Stoker\n" in text
    assert "\nProject-URL: " in text
    assert re.findall(r"\]\((?!https?://)[^)]*\)", text) == []


def test_this_environment_has_it_too():
    assert Path(run(sys.executable, CONFIGURATION)).parent.name == "tensorflow_model_analysis"


def test_an_installed_tfma_comes_first_and_gets_the_old_names(installed):
    real = installed / "tensorflow_model_analysis"
    (real / "metrics").mkdir(parents=True)
    (real / "proto").mkdir()
    (real / "__init__.py").write_text("AUC = 'its own'")
    (real / "proto" / "config_pb2.py").write_text("EvalConfig = 'the old name'")

    assert run(python_of(installed), BESIDE_THE_REAL_ONE) == "the old name its own"
