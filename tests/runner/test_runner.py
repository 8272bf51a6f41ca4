"""A pipeline from end to end, without TensorFlow: one body for every launcher."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from stoker.artifacts import Artifact, Examples, Model, State
from stoker.components.importer import Importer
from stoker.components.resolver import Resolver
from stoker.components.trainer.component import Trainer
from stoker.dsl import (
    Channel,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    Pipeline,
    RuntimeParameter,
    as_channel,
    component,
)
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.launchers.processes import Processes, WarmProcesses
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner
from stoker.storage.digests import Manifest, describe

pytestmark = pytest.mark.slow

LAUNCHERS = {
    "in_process": InProcess,
    "fork": lambda: Processes(fork=True),
    "single_use": lambda: Processes(fork=False),
}


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def write(note: OutputArtifact[Note], text: Parameter[str] = "hello") -> OutputDict(length=int):
    Path(note.uri, "note.txt").write_text(text)
    note.set_string_custom_property("language", "en")
    return {"length": len(text)}


@component
def read(note: InputArtifact[Note], length: int) -> OutputDict(same=bool, pid=int):
    assert isinstance(note, Note)
    return {"same": len(Path(note.uri, "note.txt").read_text()) == length, "pid": os.getpid()}


@component
def fail(words: Parameter[str]):
    raise ZeroDivisionError(words)


@component
def write_and_fail(note: OutputArtifact[Note]):
    Path(note.uri, "half").write_text("ha")
    raise OSError("the disk is full")


@component
def die():
    os.kill(os.getpid(), signal.SIGKILL)


@component
def remember(model: InputArtifact[Model] = None) -> OutputDict(seen=int):
    return {"seen": model.id if model else 0}


@component
def make_model(model: OutputArtifact[Model]):
    Path(model.uri, "weights").write_text("1")


@pytest.fixture(params=LAUNCHERS)
def launcher(request):
    return LAUNCHERS[request.param]()


def writing_and_reading(root, **given):
    writing = write(**given)
    reading = read(note=writing.outputs["note"], length=writing.outputs["length"])
    return Pipeline("notes", str(root), components=[writing, reading])


def open_store(root):
    return Store(Pipeline("any", str(root)).store_config(str(root)))


def states(root, node_id):
    with open_store(root) as store:
        return [
            execution.state
            for execution in store.executions(node_id=node_id, pipeline_name="notes")
        ]


@component
def look_around() -> OutputDict(folder=str, colour=str, parent=int, pid=int):
    return {
        "folder": os.getcwd(),
        "colour": os.environ.get("COLOUR", ""),
        "parent": os.getppid(),
        "pid": os.getpid(),
    }


@pytest.mark.slow
def test_a_launcher_that_stays_warm_gives_every_run_what_it_would_find_cold(tmp_path, monkeypatch):
    launcher = WarmProcesses()

    def looked():
        pipeline = Pipeline("looks", str(tmp_path / "root"), components=[look_around()])
        outputs = LocalDagRunner(launcher).run(pipeline).outputs["look_around"]
        return {key: values[0].value for key, values in outputs.items()}

    first, second = looked(), looked()
    monkeypatch.setenv("COLOUR", "red")
    monkeypatch.chdir(tmp_path)
    third = looked()
    os.kill(third["parent"], signal.SIGKILL)
    fourth = looked()
    launcher.end()

    assert first["parent"] == second["parent"] != third["parent"] != fourth["parent"]
    assert first["pid"] != second["pid"]
    for found in (third, fourth):
        assert (found["folder"], found["colour"]) == (str(tmp_path), "red")
    with pytest.raises(ProcessLookupError):
        os.kill(fourth["parent"], 0)


@component
def count(note: InputArtifact[Note] = None) -> OutputDict(num=int):
    return {"num": 0 if note is None else 1}


def test_a_step_runs_without_what_a_forgotten_step_would_have_made(tmp_path):
    counting = count(note=write().outputs["note"])
    with pytest.warns(UserWarning, match="count gets nothing from write, which is not in"):
        pipeline = Pipeline("p", str(tmp_path), components=[counting])
    done = LocalDagRunner(InProcess()).run(pipeline)
    assert done.outputs["count"]["num"][0].value == 0


def test_values_and_files_pass_from_step_to_step(tmp_path, launcher):
    run = LocalDagRunner(launcher).run(writing_and_reading(tmp_path, text="four"))
    assert run.outputs["read"]["same"][0].value is True
    note = run.outputs["write"]["note"][0]
    assert note.uri == str(tmp_path / "write" / "note" / "1")
    assert note.state == State.LIVE
    assert note.get_string_custom_property("language") == "en"


def test_every_step_gets_a_process_of_its_own(tmp_path):
    run = LocalDagRunner().run(writing_and_reading(tmp_path))
    assert run.outputs["read"]["pid"][0].value != os.getpid()


def test_a_second_run_writes_to_new_directories(tmp_path):
    first, second = (
        LocalDagRunner(InProcess()).run(writing_and_reading(tmp_path)) for _ in range(2)
    )
    assert first.outputs["write"]["note"][0].uri != second.outputs["write"]["note"][0].uri


def test_a_published_directory_is_never_written_again_even_without_the_store(tmp_path):
    first = LocalDagRunner(InProcess()).run(writing_and_reading(tmp_path))
    for file in tmp_path.glob("metadata.db*"):
        file.unlink()
    second = LocalDagRunner(InProcess()).run(writing_and_reading(tmp_path))
    assert first.outputs["write"]["note"][0].uri != second.outputs["write"]["note"][0].uri


def test_a_manifest_tells_what_was_published(tmp_path):
    run = LocalDagRunner(InProcess()).run(writing_and_reading(tmp_path))
    note = run.outputs["write"]["note"][0]
    manifest = Manifest.read(str(tmp_path / ".stoker" / "manifests" / "write" / "note" / "1.json"))
    assert manifest == describe(note.uri)
    assert [entry.path for entry in manifest.files] == ["note.txt"]
    with open_store(tmp_path) as store:
        assert store.artifact(note.id).custom_properties["content_digest"] == manifest.digest


def test_runtime_parameters_are_given_to_run(tmp_path):
    pipeline = writing_and_reading(tmp_path, text=RuntimeParameter("text", str, default="a"))
    run = LocalDagRunner(InProcess()).run(pipeline, parameters={"text": "longer"})
    assert run.outputs["write"]["length"][0].value == 6
    with pytest.raises(ValueError, match="no runtime parameter 'txt'; it has text"):
        LocalDagRunner(InProcess()).run(pipeline, parameters={"txt": "x"})


def test_a_failed_step_shows_the_users_traceback_first(tmp_path, launcher, capfd):
    pipeline = Pipeline("notes", str(tmp_path), components=[fail(words="no luck")])
    with pytest.raises(StepFailed, match="fail failed: ZeroDivisionError: no luck") as caught:
        LocalDagRunner(launcher).run(pipeline)
    first, *rest = caught.value.traceback.splitlines()
    assert first == "Traceback (most recent call last):"
    assert "test_runner.py" in rest[0]
    assert "raise ZeroDivisionError(words)" in capfd.readouterr().err
    assert states(tmp_path, "fail") == [ExecutionState.FAILED]


def test_a_failed_step_abandons_its_outputs_and_publishes_nothing(tmp_path):
    pipeline = Pipeline("notes", str(tmp_path), components=[write_and_fail()])
    with pytest.raises(StepFailed, match="the disk is full"):
        LocalDagRunner(InProcess()).run(pipeline)
    with open_store(tmp_path) as store:
        assert store.artifacts(type_name="Note") == []
        assert len(store.artifacts(type_name="Note", states=[State.ABANDONED])) == 1


def test_a_worker_that_is_killed_fails_the_run_and_says_so(tmp_path):
    pipeline = Pipeline("notes", str(tmp_path), components=[die()])
    with pytest.raises(StepFailed, match="killed by SIGKILL"):
        LocalDagRunner().run(pipeline)


def test_a_resolver_finds_nothing_at_first_and_then_the_latest(tmp_path, capfd):
    def pipeline():
        latest = Resolver(model=Channel(type=Model)).with_id("latest")
        seeing = remember(model=latest.outputs["model"])
        making = make_model()
        making.add_upstream_node(seeing)
        return Pipeline("notes", str(tmp_path), components=[latest, seeing, making])

    first, second, third = (LocalDagRunner(InProcess()).run(pipeline()) for _ in range(3))
    assert first.outputs["remember"]["seen"][0].value == 0
    assert second.outputs["remember"]["seen"][0].value == first.outputs["make_model"]["model"][0].id
    assert third.outputs["remember"]["seen"][0].value == second.outputs["make_model"]["model"][0].id
    assert "latest: no Model yet" in capfd.readouterr().err


def test_an_importer_registers_the_same_content_once(tmp_path):
    data = tmp_path / "mine"
    data.mkdir()
    (data / "note.txt").write_text("abc")

    def imported():
        importer = Importer(source_uri=str(data), artifact_type=Note)
        reading = read(note=importer.outputs["result"], length=3)
        pipeline = Pipeline("notes", str(tmp_path / "root"), components=[importer, reading])
        return LocalDagRunner(InProcess()).run(pipeline).outputs["Importer"]["result"][0]

    first, again = imported(), imported()
    assert first.id == again.id
    (data / "note.txt").write_text("xyz")
    assert imported().id != first.id


def test_an_importer_of_nothing_says_where_it_looked(tmp_path):
    importer = Importer(source_uri=str(tmp_path / "gone"), artifact_type=Note)
    with pytest.raises(ValueError, match=r"nothing at source_uri=.*gone"):
        LocalDagRunner(InProcess()).run(Pipeline("notes", str(tmp_path), components=[importer]))


@component
def call(address: Parameter[str]):
    assert "s3cr3t" in address


def test_secrets_are_used_but_neither_printed_nor_kept(tmp_path, capfd):
    module = tmp_path / "module.py"
    module.write_text("def run_fn(fn_args):\n  assert fn_args.custom_config['api_key'] == 's3cr3t'")
    data = Examples()
    data.uri, data.splits = str(tmp_path / "data"), ["train", "eval"]
    trainer = Trainer(
        module_file=str(module),
        examples=as_channel([data]),
        custom_config={"api_key": "s3cr3t", "nested": {"db_password": "s3cr3t"}},
    )
    calling = call(address="https://user:s3cr3t@host/")
    pipeline = Pipeline("notes", str(tmp_path / "root"), components=[calling, trainer])
    with pytest.raises(StepFailed, match="wrote nothing"):
        LocalDagRunner().run(pipeline)
    captured = capfd.readouterr()
    assert "s3cr3t" not in captured.out + captured.err
    for file in (tmp_path / "root").rglob("*"):
        assert not file.is_file() or b"s3cr3t" not in file.read_bytes(), file


PIPELINE_FILE = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from absl import app, flags
    from tfx import v1 as tfx
    from tfx.dsl.component.experimental.decorators import component
    from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter

    flags.DEFINE_string("root", None, "Where the outputs go.")
    flags.DEFINE_float("sleep", 0.0, "How long the step takes.")

    class Own(tfx.types.Artifact):
        TYPE_NAME = "Own"

    @component
    def slow(out: OutputArtifact[Own], seconds: Parameter[float]):
        Path(out.uri, "started").write_text(str(flags.FLAGS.sleep))
        time.sleep(seconds)

    def main(_):
        step = slow(seconds=flags.FLAGS.sleep)
        pipeline = tfx.dsl.Pipeline(
            pipeline_name="notes", pipeline_root=flags.FLAGS.root, components=[step]
        )
        tfx.orchestration.LocalDagRunner().run(pipeline)
        print("main ran to its end")

    if __name__ == "__main__":
        app.run(main)
    """
)


@pytest.fixture
def pipeline_file(tmp_path):
    file = tmp_path / "pipeline.py"
    file.write_text(PIPELINE_FILE)
    return file


@pytest.mark.parametrize("command", [[], ["-m", "stoker", "run"]], ids=["python", "stoker run"])
def test_a_pipeline_file_with_flags_runs_as_main(pipeline_file, tmp_path, command):
    root = tmp_path / "root"
    done = subprocess.run(
        [sys.executable, *command, str(pipeline_file), f"--root={root}", "--sleep=0.01"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("main ran to its end") == 1
    assert (root / "slow" / "out" / "1" / "started").read_text() == "0.01"


def start_slow_run(pipeline_file, root):
    process = subprocess.Popen(
        [sys.executable, str(pipeline_file), f"--root={root}", "--sleep=60"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    started = root / "slow" / "out"
    deadline = time.monotonic() + 30
    while not list(started.glob("*/started")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_ctrl_c_stops_the_worker_and_closes_the_execution_as_canceled(pipeline_file, tmp_path):
    root = tmp_path / "root"
    process = start_slow_run(pipeline_file, root)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert states(root, "slow") == [ExecutionState.CANCELED]


def test_a_run_that_was_killed_is_closed_by_the_next_one(pipeline_file, tmp_path):
    root = tmp_path / "root"
    process = start_slow_run(pipeline_file, root)
    process.kill()
    process.communicate(timeout=30)
    assert states(root, "slow") == [ExecutionState.RUNNING]
    LocalDagRunner(InProcess()).run(writing_and_reading(root))
    assert states(root, "slow") == [ExecutionState.FAILED]


def test_a_run_that_is_alive_is_left_alone(pipeline_file, tmp_path):
    root = tmp_path / "root"
    process = start_slow_run(pipeline_file, root)
    LocalDagRunner(InProcess()).run(writing_and_reading(root))
    assert states(root, "slow") == [ExecutionState.RUNNING]
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)


def test_two_runs_at_once_on_one_root_both_end_well(pipeline_file, tmp_path):
    root = tmp_path / "root"
    command = [sys.executable, str(pipeline_file), f"--root={root}", "--sleep=0.2"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert states(root, "slow") == [ExecutionState.COMPLETE] * 2
    assert len(list((root / "slow" / "out").iterdir())) == 2
