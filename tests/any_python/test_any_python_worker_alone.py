# SPDX-License-Identifier: Apache-2.0
"""A Task in a process that has any_python and nothing else."""

import pytest
from bare_process import bare_process, execute

from stoker.any_python.notes import digest_file, read_journals

pytestmark = pytest.mark.slow

WRITES = """
import os


def write(fn_args, name="model.txt", text="a model"):
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, name), "w") as file:
        file.write(text)
"""


@pytest.fixture
def run(tmp_path):
    """Run a module, given as text, with a neighbour that writes models."""
    (tmp_path / "neighbour.py").write_text(WRITES)

    def run(text, name="module.py", **task):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        parameters = {"module_file": str(file), **task.pop("parameters", {})}
        given = {"user_file": str(file), "observed_dir": str(tmp_path / "observed"), **task}
        return execute({**given, "parameters": parameters}, serving_model_dir=str(tmp_path / "out"))

    return run


def test_a_module_writes_a_model_with_its_neighbours_help(run, tmp_path):
    said, outcome = run(
        "from neighbour import write\ndef run_fn(fn_args):\n  print('hello')\n  write(fn_args)\n"
    )
    assert said == ["hello"]
    assert outcome["failure"] is None
    assert outcome["outputs"] == {"model": []}
    notes = read_journals(str(tmp_path / "observed"))
    for name in ("module.py", "neighbour.py"):
        assert notes[f"file {tmp_path / name}"] == digest_file(str(tmp_path / name))
    assert (tmp_path / "out" / "model.txt").read_text() == "a model"


def test_a_module_in_a_package_imports_relatively(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / "mine" / "beside.py").write_text(WRITES)
    text = "from .beside import write\ndef run_fn(fn_args):\n  write(fn_args, text=__name__)\n"
    assert run(text, "mine/module.py")[1]["failure"] is None
    assert (tmp_path / "out" / "model.txt").read_text() == "mine.module"


@pytest.mark.parametrize("name", ["json.py", "keras.py", "random.py"])
def test_a_module_may_have_the_name_of_a_library(run, name):
    text = "import random\nfrom neighbour import write\ndef run_fn(fn_args):\n"
    assert run(f"{text}  random.random()\n  write(fn_args)\n", name)[1]["failure"] is None


def test_a_failure_has_the_users_own_traceback(run, tmp_path):
    failure = run("def run_fn(fn_args):\n  broken()\n")[1]["failure"]
    assert failure["kind"] == "NameError"
    assert failure["traceback"].splitlines()[1].startswith(f'  File "{tmp_path}/module.py", line 2')
    assert "stoker" not in failure["traceback"]


def test_a_module_that_does_not_parse_is_named_with_its_line(run, tmp_path):
    failure = run("def run_fn(:\n")[1]["failure"]
    assert failure["kind"] == "SyntaxError"
    assert f'File "{tmp_path}/module.py", line 1' in failure["traceback"]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("def run_fn(fn_args): pass", "NothingWritten", "run_fn ended, but wrote nothing to"),
        ("def train(fn_args): pass", "ValueError", "defines no run_fn or trainer_fn"),
        ("run_fn = 3", "ValueError", "is not a function but int"),
        ("def run_fn(fn_args): raise SystemExit(3)", "SystemExit", "3"),
    ],
)
def test_what_cannot_end_well_is_said(run, text, kind, message):
    failure = run(f"{text}\n")[1]["failure"]
    assert failure["kind"] == kind
    assert message in failure["message"]


def test_a_package_that_is_missing_there_says_where_to_install_it(run):
    failure = run("import pebble\ndef run_fn(fn_args): pass\n")[1]["failure"]
    assert failure["kind"] == "ModuleNotFoundError"
    assert "pebble is not in" in failure["hint"]
    assert "-m pip install" in failure["hint"]


def test_a_module_file_that_is_gone_is_named(tmp_path):
    gone = str(tmp_path / "gone.py")
    failure = execute({"parameters": {"module_file": gone}})[1]["failure"]
    assert failure["message"] == f"There is no module file {gone}. Check module_file."
    assert failure["traceback"] == ""


def test_a_dotted_function_is_found_on_the_users_paths(run, tmp_path):
    parameters = {"module_file": None, "run_fn": "other.go"}
    (tmp_path / "other.py").write_text(f"{WRITES}\ngo = write\n")
    _, outcome = run("", parameters=parameters, import_paths=[str(tmp_path)])
    assert outcome["failure"] is None


def test_of_two_functions_the_executor_decides(run):
    both = (
        "from neighbour import write\n"
        "def run_fn(fn_args): write(fn_args)\n"
        "def trainer_fn(fn_args, schema): pass\n"
    )
    assert run(both)[1]["failure"] is None
    estimator = "stoker.components.trainer.executor:Executor"
    failure = run(both, executor=estimator)[1]["failure"]
    assert "trainer_fn(fn_args, schema) is given the schema" in failure["message"]


def test_the_programs_arguments_are_those_of_the_pipeline_file(run):
    text = "import sys\nfrom neighbour import write\ndef run_fn(fn_args):\n"
    said, _ = run(f"{text}  print(sys.argv)\n  write(fn_args)\n", argv=["pipeline.py", "--fast"])
    assert said == ["['pipeline.py', '--fast']"]


def test_our_own_folder_is_not_on_the_path():
    ours = "any(path.endswith('any_python') for path in sys.path)"
    code = f"print({ours}, 'stoker_any_python' in sys.modules)"
    assert bare_process(code).split() == ["False", "True"]
