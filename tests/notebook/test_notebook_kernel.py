# SPDX-License-Identifier: Apache-2.0
"""Components run in a real kernel, with modules that are edited, that fail, die and hang."""

import os

import pytest
from kernels import Kernel

pytestmark = pytest.mark.slow

START = """
%load_ext tfx.orchestration.experimental.interactive.notebook_extensions.skip
from tfx import v1 as tfx
from tfx.orchestration.experimental.interactive.interactive_context import InteractiveContext

context = InteractiveContext("birds", "out")
example_gen = tfx.components.CsvExampleGen(input_base="data")
trainer = tfx.components.Trainer(module_file="module.py", examples=example_gen.outputs["examples"])
pusher = tfx.components.Pusher(
    model=trainer.outputs["model"],
    push_destination=tfx.proto.PushDestination(
        filesystem=tfx.proto.PushDestination.Filesystem(base_directory="served")
    ),
)
"""
MODULE = """
import os, signal, time
from pathlib import Path

def run_fn(fn_args):
    {line}
    os.makedirs(fn_args.serving_model_dir)
    Path(fn_args.serving_model_dir, "model.txt").write_text("{word}")
"""
READ_MODEL = "open(trainer.outputs['model'].get()[0].uri + '/Format-Serving/model.txt').read()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "data").mkdir()
    (folder / "data" / "birds.csv").write_text("bill,mass\n" + "39.1,3750\n" * 9)
    return folder


@pytest.fixture(scope="module")
def kernel(folder):
    kernel = Kernel(folder)
    kernel.run(START)
    yield kernel
    kernel.close()


@pytest.fixture
def write_module(folder):
    def write(line="pass", word=""):
        (folder / "module.py").write_text(MODULE.format(line=line, word=word))

    return write


@pytest.fixture
def trained(kernel, write_module):
    write_module(word="first")
    kernel.run("context.run(example_gen)")
    assert not kernel.run("result = context.run(trainer)").error


def test_a_component_that_was_not_run_is_named(kernel):
    shown = kernel.run("context.run(pusher)")
    assert shown.error == (
        "Pusher reads from Trainer, which has not been run in this context, or whose last run "
        "failed. Call context.run(…) on the Trainer first."
    )


def test_a_result_says_what_was_made_and_where(kernel, trained):
    assert kernel.run("result.component_id, result.execution_id > 0").value == "('Trainer', True)"
    assert kernel.run("result.outputs is trainer.outputs").value == "True"
    shown = kernel.run("context.run(trainer)")
    assert shown.printed["stdout"].startswith("Trainer cached in")
    assert "out/Trainer/model/" in shown.data[-1]["text/html"]
    assert "cached" in shown.value


def test_an_edit_of_the_module_is_seen_by_the_next_run(kernel, trained, write_module):
    assert kernel.run(READ_MODEL).value == "'first'"
    write_module(word="second")
    kernel.run("context.run(trainer)")
    assert kernel.run(READ_MODEL).value == "'second'"


def test_a_failure_is_shown_by_the_users_own_traceback_once(kernel, trained, write_module):
    write_module(line="raise ValueError('no penguins')")
    shown = kernel.run("context.run(trainer)")
    assert "module.py" in shown.printed["stderr"]
    assert shown.printed["stderr"].count("no penguins") == 2  # the line, and what it raised
    first, line, log = shown.error.splitlines()
    assert first == "StepFailed: Trainer failed: ValueError: no penguins"
    assert line.endswith("raise ValueError('no penguins')")
    assert log.startswith("Log: ")
    assert "last run failed" in kernel.run("context.run(pusher)").error


def test_a_module_that_cannot_load_is_told_of_before_anything_starts(kernel, trained, folder):
    module = folder / "module.py"
    module.write_text("import no_such_package\n" + MODULE.format(line="pass", word=""))
    shown = kernel.run("context.run(trainer)")
    assert shown.printed == {"stdout": "", "stderr": ""}
    assert shown.error == (
        "BadPipeline: Trainer: module.py, line 1: No module named 'no_such_package'. Install the "
        "package that has it, perhaps pip install no-such-package, or put its file beside this "
        "one."
    )


def test_the_kernel_goes_on_when_a_worker_is_killed(kernel, trained, write_module):
    write_module(line="os.kill(os.getpid(), signal.SIGKILL)")
    shown = kernel.run("context.run(trainer)")
    assert "The worker process was killed by SIGKILL." in shown.error
    write_module(word="after")
    kernel.run("context.run(trainer)")
    assert kernel.run(READ_MODEL).value == "'after'"


def test_an_interrupt_stops_the_worker_and_not_the_kernel(kernel, trained, write_module):
    write_module(line="print(f'{os.getpid()} sleeps', flush=True); time.sleep(600)")
    shown = kernel.run("context.run(trainer)", interrupt_at="sleeps")
    worker = int(shown.printed["stdout"].split()[0])
    assert shown.error.startswith("Trainer was stopped. Its next run goes on where it was")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    write_module(word="again")
    kernel.run("context.run(trainer)")
    assert kernel.run(READ_MODEL).value == "'again'"


def test_what_is_printed_has_no_carriage_returns(kernel, trained, write_module):
    write_module(line="import stoker; [stoker.log_metrics(step, loss=1) for step in range(99)]")
    printed = kernel.run("context.run(trainer)").printed
    assert "step 98, loss 1.0000" in printed["stdout"]
    assert "\r" not in printed["stdout"]
    assert printed["stderr"] == ""


def test_resolvers_importers_and_conditions_work_as_in_a_pipeline(
    kernel, trained, write_module, folder
):
    write_module(word="newest")
    kernel.run("context.run(trainer)")
    kernel.run("""
model = tfx.types.standard_artifacts.Model
latest = tfx.dsl.Resolver(
    strategy_class=tfx.dsl.experimental.LatestArtifactStrategy, model=tfx.dsl.Channel(type=model)
).with_id("latest")
given = tfx.dsl.Importer(
    source_uri="data", artifact_type=model, custom_properties={"blessed": 0}
).with_id("given")
with tfx.dsl.Cond(given.outputs["result"].future()[0].custom_property("blessed") == 1):
    pushing = tfx.components.Pusher(
        model=latest.outputs["model"], push_destination=pusher.exec_properties["push_destination"]
    ).with_id("pushing")
""")
    kernel.run("context.run(latest)")
    same = "latest.outputs['model'].get()[0].id == trainer.outputs['model'].get()[0].id"
    assert kernel.run(same).value == "True"
    assert "data" in kernel.run("context.run(given)").value
    assert "pushing skipped: condition " in kernel.run("context.run(pushing)").value
    assert not (folder / "served").exists()


def test_what_cells_define_runs_in_a_worker_and_is_seen_when_it_changes(kernel):
    kernel.run("""
import os
class Note(tfx.dsl.Artifact):
    TYPE_NAME = "Note"

def words():
    return "one"
""")
    kernel.run("""
@tfx.dsl.components.component
def take_down(note: tfx.dsl.components.OutputArtifact[Note]):
    result = f"{words()} from {os.getpid()}"
    note.set_string_custom_property("words", result)

taking_down = take_down()
""")
    read = "result.outputs['note'].get()[0].get_string_custom_property('words').split()"
    kernel.run("result = context.run(taking_down)")
    assert kernel.run(f"{read}[0], int({read}[2]) == os.getpid()").value == "('one', False)"
    kernel.run("def words():\n    return 'two'")
    kernel.run("result = context.run(taking_down)")
    assert kernel.run(f"{read}[0]").value == "'two'"


def test_a_channel_is_shown_with_its_artifacts(kernel, trained):
    (shown,) = kernel.run("context.show(example_gen.outputs['examples'])").data
    assert "39.1" in shown["text/html"]
    assert "39.1" in shown["text/plain"]
    assert "takes an artifact" in kernel.run("context.show('examples')").error


def test_cells_that_are_not_for_export_just_run(kernel):
    assert kernel.run("%%skip_for_export\n6 * 7").value == "42"


def test_export_says_what_to_do_instead(kernel):
    assert "LocalDagRunner" in kernel.run("context.export_to_pipeline('a', 'b', 'beam')").error


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("def deploy(): ...\nimport airflow", "line 2: airflow is not here. "),
        (
            "import tensorflow_data_validation as v\nv.load_statistics('no')",
            "line 2: There is no f",
        ),
        ("from tfx.orchestration.portable import launcher", "line 1: Stoker has no tfx.orchestrat"),
    ],
)
def test_a_cell_ends_with_what_is_missing_or_refused_in_a_line(kernel, cell, said):
    (told,) = kernel.run(cell).error.splitlines()
    assert told.startswith("stoker: Cell In[")
    assert f"], {said}" in told


def test_a_cell_s_own_errors_keep_their_traceback_and_hooks_their_place(kernel):
    assert "Traceback (most recent call last)" in kernel.run("raise ValueError('mine')").error
    assert kernel.run("try:\n  import kfp\nexcept ImportError:\n  print(1)").error == ""
    kernel.run("import os; os.environ['STOKER_TRACEBACK'] = '1'")
    assert "Traceback" in kernel.run("import airflow").error
    kernel.run("del os.environ['STOKER_TRACEBACK']")
    own = "get_ipython().set_custom_exc((Exception,), lambda *_, **__: print('own'))\n"
    tell = "from stoker.views.users_errors import tell_users_errors; tell_users_errors()"
    kernel.run(own + tell)
    assert kernel.run("import airflow").printed["stdout"] == "own\n"
    kernel.run("get_ipython().set_custom_exc((), None)")
