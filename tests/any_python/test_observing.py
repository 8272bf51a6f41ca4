# SPDX-License-Identifier: Apache-2.0
"""What is noted while a user's code runs, in a process of its own."""

import hashlib
import json

import pytest

RUN = """
import json, os, sys
sys.argv[:] = ['program.py', '--width', '3']
from stoker.any_python.notes import read_journals
from stoker.any_python.observing import observe_step
from stoker.any_python.modules import load_function
given = {{'flag lr': '--lr=1', 'command line': 'argv'}}
given.update(('variable ' + name, value) for name, value in os.environ.items())
with observe_step(
    observed_dir={folder!r}, given=given, import_paths=[], code_files=[{file!r}],
    pipeline_files=[], not_users=[], moved_to='',
):
    load_function({file!r}, names=['read'])()
print(json.dumps(read_journals({folder!r})))
"""


@pytest.fixture
def note(write, run_python, tmp_path):
    """What is noted of a function's body, its files and their presence apart."""

    def note(body, head=""):
        file = write("observed_code.py", f"{head}import os, sys\ndef read():\n    {body}\n")
        printed = run_python(RUN.format(file=str(file), folder=str(tmp_path / "journals")))
        notes = json.loads(printed.splitlines()[-1])
        return {name for name in notes if not name.startswith(("file ", "presence of ", "folder "))}

    return note


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        ("os.environ['HOME']", {"variable HOME"}),
        ("os.environ.get('RATE')", {"variable RATE"}),
        ("'RATE' in os.environ", {"variable RATE"}),
        ("os.environb.get(b'RATE')", {"variable RATE"}),
        ("from os import environ, getenv; getenv('RATE', '1')", {"variable RATE"}),
        ("os.environ['RATE'] = '1'; os.environ['RATE']", set()),
        ("os.environ.setdefault('RATE', '1'); os.environ['RATE']", {"variable RATE"}),
        ("os.environ.get('TF_CONFIG'), os.environ.get('STOKER_WATCH')", set()),
        ("import shutil; shutil.get_terminal_size()", set()),
        ("os.path.expanduser('~/x')", set()),
        ("import tempfile; tempfile.gettempdir()", set()),
        ("import subprocess; subprocess.run(['true'])", set()),
    ],
)
def test_variables_count_where_the_users_own_line_reads_them(note, body, noted):
    assert note(body) == noted


@pytest.mark.parametrize("body", ["dict(os.environ)", "os.environ.copy()", "{**os.environ}"])
def test_whoever_lists_the_variables_does_not_name_those_of_the_shell(note, body, monkeypatch):
    monkeypatch.setenv("RATE", "1")
    noted = note(body)
    assert {"variables", "variable RATE"} <= noted
    assert not noted & {"variable HOME", "variable PATH", "variable TMPDIR"}


@pytest.mark.parametrize(
    "body",
    [
        "sys.argv[1:]",
        "list(sys.argv)",
        "' '.join(sys.argv)",
        "[1] + sys.argv",
        "'--width' in sys.argv",
        "a, *b = sys.argv",
        "len(sys.argv) > 1",
        "import argparse; argparse.ArgumentParser().parse_known_args()",
    ],
)
def test_whoever_reads_an_argument_depends_on_the_command_line(note, body):
    assert note(body) == {"command line"}


def test_the_name_of_the_program_is_no_argument(note):
    assert note("sys.argv[0]") == set()


DEFINE = """
from absl import flags
LR = flags.DEFINE_float('lr', 1.0, '', short_name='l')
UNREAD = flags.DEFINE_float('unread', 1.0, '')
FLAGS = flags.FLAGS
FLAGS(['program'])
"""


@pytest.mark.parametrize(
    "read",
    ["FLAGS.lr", "FLAGS.l", "FLAGS['lr'].value", "LR.value", "FLAGS.get_flag_value('lr', 0)"],
)
def test_a_flag_counts_however_it_is_read(note, read):
    assert note(read, DEFINE) == {"flag lr"}


def test_whoever_takes_all_flags_depends_on_all(note):
    noted = note("FLAGS.flag_values_dict()", DEFINE)
    assert {"flag lr", "flag unread"} <= noted


def test_flags_that_absl_reads_for_its_logging_do_not_count(note):
    assert note("from absl import logging; logging.info('x')", DEFINE) == set()


def test_a_file_is_noted_as_it_was_read_and_not_as_it_was_edited_since(write, run_python, tmp_path):
    body = "import os, near\ndef read():\n    os.system(f'echo x = 2 > {near.__file__}')\n"
    near, code = write("near.py", "x = 1\n"), write("code_near.py", body)
    printed = run_python(RUN.format(file=str(code), folder=str(tmp_path / "journals")))
    assert near.read_text() == "x = 2\n"
    notes = json.loads(printed.splitlines()[-1])
    assert notes[f"file {near}"] == hashlib.sha256(b"x = 1\n").hexdigest()
