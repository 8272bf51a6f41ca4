# SPDX-License-Identifier: Apache-2.0
"""Packages for other places can be imported and named where they are not installed, not used."""

import subprocess
import sys

import pytest

from stoker.stand_ins.named_only import PACKAGES, is_named_only

pytestmark = pytest.mark.skipif(
    not all(map(is_named_only, PACKAGES)), reason="these packages are installed here"
)

PIPELINE = """
import sys
import kfp
import kfp.compiler as compiler
from kfp.v2.google.client import AIPlatformClient
from tensorflow_cloud import CloudTuner
from tfx import v1 as tfx
from tfx.dsl.component.experimental.decorators import component

@component
def Note():
    print("noted")

def send(client: kfp.Client):
    return client.create_run_from_pipeline_func(Note)

if "cloud" in sys.argv:
    send(kfp.Client(host="https://kfp"))
else:
    store = tfx.orchestration.metadata.sqlite_metadata_connection_config("metadata.db")
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline("p", "root", components=[Note()], metadata_connection_config=store)
    )
"""


def run(folder, source, *arguments):
    (folder / "program.py").write_text(source)
    return subprocess.run(
        [sys.executable, "program.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pipeline_with_a_branch_for_the_cloud_runs_here(tmp_path):
    done = run(tmp_path, PIPELINE)
    assert (done.returncode, "noted" in done.stdout + done.stderr) == (0, True), done.stderr


def test_the_branch_itself_is_told_in_a_line(tmp_path):
    done = run(tmp_path, PIPELINE, "cloud")
    assert (done.returncode, done.stderr) == (
        1,
        "stoker: program.py:18: kfp.Client is not here. Leave out what uses it: `stoker run` runs "
        "the pipeline on this machine without.\n",
    )


def test_a_class_cannot_be_made_of_one(tmp_path):
    done = run(tmp_path, "from tensorflow_cloud import CloudTuner\nclass Mine(CloudTuner): ...\n")
    assert done.stderr.startswith("stoker: program.py:2: tensorflow_cloud.CloudTuner is not here.")


@pytest.mark.parametrize("package", PACKAGES)
def test_code_that_can_do_without_it_does(tmp_path, package):
    source = f"try:\n    import {package} as it\nexcept ImportError:\n    it = None\nprint(it)"
    assert run(tmp_path, source).stdout == "None\n"


@pytest.mark.parametrize("package", PACKAGES)
def test_an_installed_library_does_not_find_it(tmp_path, package):
    library = tmp_path / "site-packages" / "library.py"
    library.parent.mkdir()
    library.write_text(f"def ask():\n    import {package}\n")
    source = "import sys\nsys.path.append('site-packages')\nimport library\nlibrary.ask()\n"
    assert f"ModuleNotFoundError: No module named '{package}'" in run(tmp_path, source).stderr
