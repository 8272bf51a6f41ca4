# SPDX-License-Identifier: Apache-2.0
"""A program that calls a stand-in ends with what is wrong and its own line, without our frames."""

import os
import subprocess
import sys

import pytest

CALLS = {
    "import tensorflow_data_validation as tfdv\ntfdv.generate_statistics_from_csv('no.csv')": (
        "stoker: program.py:2: No file matches 'no.csv'. Check the path and the pattern.\n"
    ),
    "import ml_metadata as mlmd\nimport ml_metadata.nothing": (
        "stoker: program.py:2: Stoker has no ml_metadata.nothing. ml_metadata "
        "has errors, metadata_store, proto, version. Leave it out, or write what it does.\n"
    ),
}


def run(folder, source, **more):
    (folder / "program.py").write_text(source)
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("source", "said"), CALLS.items())
def test_it_is_told_in_a_line(tmp_path, source, said):
    done = run(tmp_path, source)
    assert (done.returncode, done.stderr) == (1, said)
    assert "Traceback" in run(tmp_path, source, STOKER_TRACEBACK="1").stderr


def test_other_errors_and_hooks_of_the_user_are_left_alone(tmp_path):
    start = "import tensorflow_data_validation as tfdv\n"
    assert run(tmp_path, f"{start}1 / 0").stderr.startswith("Traceback (most recent call last)")
    hook = "import sys\nsys.excepthook = lambda *_: print('mine')\n"
    done = run(tmp_path, f"{hook}{start}tfdv.generate_statistics_from_csv('no.csv')")
    assert (done.stdout, done.stderr) == ("mine\n", "")
