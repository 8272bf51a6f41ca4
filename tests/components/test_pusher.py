# SPDX-License-Identifier: Apache-2.0
import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stoker.artifacts import InfraBlessing, Model, ModelBlessing, PushedModel
from stoker.components.importer import Importer
from stoker.components.pusher import Executor, Pusher, next_version, push
from stoker.dsl import Channel, ExecutorClassSpec, Pipeline, RuntimeParameter
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.errors import ModelRejected
from stoker.runner import LocalDagRunner
from stoker.storage.digests import describe
from stoker.storage.files import UnfitFile

PUSH = """
import sys
from stoker.components.pusher import push
model, base, root = sys.argv[1:]
push(model, base, last_push=f"{root}/last.txt", scratch_dir=f"{root}/scratch")
"""

WATCH = """
import os, sys
base, stop = sys.argv[1:]
seen, broken = set(), []
print("watching", flush=True)
done = False
while not done:
    done = os.path.exists(stop)
    for version in [name for name in os.listdir(base) if name.isdecimal()]:
        folder = os.path.join(base, version)
        try:
            expected = open(os.path.join(folder, "saved_model.pb")).read().split()
            contents = {open(os.path.join(folder, "variables", name)).read() for name in expected}
        except OSError as error:
            broken.append(repr(error))
        else:
            seen.add(version)
            if len(expected) != 200 or len(contents) != 1 or len(contents.pop()) != 5000:
                broken.append(version)
print(len(seen), *broken)
"""


def artifact(kind, path: Path, **properties):
    made = kind()
    path.mkdir(parents=True, exist_ok=True)
    made.uri = str(path)
    made.custom_properties.update(properties)
    return made


def write_model(folder: Path, *, letter: str = "a", num_files: int = 1, size: int = 10) -> Path:
    """A model whose first file lists the others."""
    names = [f"file-{number}" for number in range(num_files)]
    (folder / "variables").mkdir(parents=True)
    for name in names:
        (folder / "variables" / name).write_text(letter * size)
    (folder / "saved_model.pb").write_text("\n".join(names))
    return folder


def files_below(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def versions_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def push_to(base: Path, model: Path, root: Path | None = None, **options) -> int:
    """Push as the Pusher of a pipeline with that root does."""
    root = root or base.parent / "root"
    (root / "scratch").mkdir(parents=True, exist_ok=True)
    places = {"last_push": f"{root}/last.txt", "scratch_dir": f"{root}/scratch"}
    return push(str(model), str(base), **places, **options)


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "served"


@pytest.fixture
def model(tmp_path) -> Model:
    write_model(tmp_path / "model" / "Format-Serving")
    return artifact(Model, tmp_path / "model")


@pytest.fixture
def do(tmp_path, base, model):
    """Calls the executor; returns its output."""

    def call(**inputs):
        pushed = artifact(PushedModel, tmp_path / "root" / "Pusher" / "pushed_model" / "1")
        given = {key: [value] if value else [] for key, value in inputs.items()}
        destination = PushDestination(filesystem={"base_directory": str(base)})
        values = Pusher(Channel(Model), push_destination=destination).spec.values({})
        Executor().Do({"model": [model], **given}, {"pushed_model": [pushed]}, values)
        return pushed

    return call


def test_a_model_is_pushed_under_the_second_of_its_push(do, base, model):
    before = int(time.time())

    pushed = do()

    (version,) = versions_in(base)
    assert before <= int(version) <= time.time()
    assert files_below(base / version) == files_below(Path(model.uri, "Format-Serving"))
    assert pushed.custom_properties == {
        "pushed": 1,
        "pushed_destination": str(base / version),
        "pushed_version": version,
    }


def test_the_output_holds_a_copy_of_the_model(do, model):
    pushed = do()

    assert files_below(Path(pushed.uri)) == files_below(Path(model.uri, "Format-Serving"))


@pytest.mark.parametrize(
    ("kind", "key"), [(ModelBlessing, "model_blessing"), (InfraBlessing, "infra_blessing")]
)
def test_a_model_that_is_not_blessed_is_not_pushed(do, base, tmp_path, kind, key):
    pushed = do(**{key: artifact(kind, tmp_path / "blessing", blessed=0)})

    assert pushed.custom_properties == {"pushed": 0}
    assert not base.exists()


def test_a_blessing_that_was_asked_for_and_never_came_is_none(do):
    assert do(model_blessing=None).get_int_custom_property("pushed") == 0


def test_a_model_with_both_blessings_is_pushed(do, tmp_path):
    pushed = do(
        model_blessing=artifact(ModelBlessing, tmp_path / "model_blessing", blessed=1),
        infra_blessing=artifact(InfraBlessing, tmp_path / "infra_blessing", blessed=1),
    )

    assert pushed.get_int_custom_property("pushed") == 1


@pytest.mark.parametrize(("marker", "pushed"), [("BLESSED", 1), ("NOT_BLESSED", 0)])
def test_a_blessing_from_elsewhere_is_judged_by_its_marker(do, tmp_path, marker, pushed):
    blessing = artifact(ModelBlessing, tmp_path / "blessing")
    (tmp_path / "blessing" / marker).touch()

    assert do(model_blessing=blessing).get_int_custom_property("pushed") == pushed


def test_without_a_model_the_one_that_the_infra_blessing_holds_is_pushed(tmp_path):
    stamped = write_model(tmp_path / "blessing" / "stamped_model")
    blessing = artifact(InfraBlessing, tmp_path / "blessing", blessed=1)

    assert Executor().GetModelPath({"infra_blessing": [blessing]}) == str(stamped)


def test_an_infra_blessing_without_a_model_says_what_to_give_instead(tmp_path):
    with pytest.raises(ValueError, match=r"no model to push.*trainer\.outputs"):
        Executor().GetModelPath({"infra_blessing": [artifact(InfraBlessing, tmp_path)]})


@pytest.mark.parametrize(
    ("now", "last", "taken", "version"),
    [
        (1000, 0, [], 1000),
        (1000, 1000, ["1000"], 1001),
        (1000, 0, ["1000", "1001"], 1002),
        (1000, 2000, [], 2001),
        (1000, 0, ["3", ".last_push", "notes.txt"], 1000),
    ],
)
def test_a_version_is_later_than_every_one_before(now, last, taken, version):
    assert next_version(now=now, last=last, taken=taken) == version


def test_pushes_within_one_second_do_not_collide(base, tmp_path):
    model = write_model(tmp_path / "model")

    versions = [push_to(base, model) for _ in range(4)]

    assert versions == sorted(set(versions))
    assert versions_in(base) == [str(version) for version in versions]


def test_the_number_of_a_version_that_was_deleted_is_not_used_again(base, tmp_path):
    model = write_model(tmp_path / "model")
    first = push_to(base, model)
    os.rename(base / str(first), tmp_path / "deleted")

    assert push_to(base, model) > first


@pytest.mark.slow
def test_pushes_at_the_same_time_all_arrive(base, tmp_path):
    model = write_model(tmp_path / "model", num_files=50)
    command = [sys.executable, "-c", PUSH, str(model), str(base)]

    pushes = [subprocess.Popen([*command, str(tmp_path / str(one))]) for one in range(4)]

    assert [push.wait() for push in pushes] == [0] * 4
    assert len(versions_in(base)) == 4
    assert all(files_below(base / name) == files_below(model) for name in versions_in(base))


@pytest.mark.slow
def test_a_server_that_watches_never_sees_half_a_model(base, tmp_path):
    base.mkdir()
    stop = tmp_path / "stop"
    command = [sys.executable, "-c", WATCH, str(base), str(stop)]
    models = [
        write_model(tmp_path / letter, letter=letter, num_files=200, size=5000) for letter in "abcd"
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout.readline() == "watching\n"
        for model in models:
            push_to(base, model)
        stop.touch()
        report = watcher.stdout.read()

    assert report == "4\n"


@pytest.mark.slow
def test_a_push_that_is_killed_changes_nothing_and_the_next_one_cleans_up(base, tmp_path):
    small, large = (
        write_model(tmp_path / "small"),
        write_model(tmp_path / "large", num_files=300, size=100_000),
    )
    first = push_to(base, small)
    root = tmp_path / "root"
    child = subprocess.Popen([sys.executable, "-c", PUSH, str(large), str(base), str(root)])
    copy = root / "scratch" / ".pushing"
    while not (copy / "variables" / "file-0").exists():
        assert child.poll() is None
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL

    assert 0 < len(files_below(copy)) <= 301
    assert names_in(base) == [str(first)]
    assert files_below(base / str(first)) == files_below(small)
    second = push_to(base, large)
    assert files_below(base / str(second)) == files_below(large)
    assert names_in(base) == [str(first), str(second)]
    assert not copy.exists()


def test_a_push_that_fails_leaves_nothing_behind(base, tmp_path):
    model = write_model(tmp_path / "model")
    first = push_to(base, model)
    (model / "zzz").symlink_to(tmp_path / "nowhere")

    with pytest.raises(UnfitFile, match="zzz is a link to nothing"):
        push_to(base, model)

    assert names_in(base) == [str(first)]


def test_a_copy_that_is_not_what_was_published_is_not_pushed(base, tmp_path):
    model = write_model(tmp_path / "model")
    published = describe(str(model))
    first = push_to(base, model, published=published)
    (model / "variables" / "file-0").write_text("b" * 10)

    with pytest.raises(ModelRejected, match="not pushed: variables/file-0: changed"):
        push_to(base, model, published=published)

    assert names_in(base) == [str(first)]


def test_what_older_versions_kept_in_the_folder_is_taken_over(base, tmp_path):
    model = write_model(tmp_path / "model")
    base.mkdir()
    for name in (".push_lock", ".last_push.damaged-1"):
        (base / name).touch()
    (base / ".last_push").write_text("7000000000\n")
    write_model(base / ".pushing")

    assert push_to(base, model) == 7000000001

    assert names_in(base) == ["7000000001"]
    assert (tmp_path / "root" / "last.txt").read_text() == "7000000001\n"


def test_pipelines_with_roots_of_their_own_push_one_after_the_other(base, tmp_path):
    model = write_model(tmp_path / "model")

    versions = [push_to(base, model, tmp_path / name) for name in "abab"]

    assert versions == sorted(set(versions))
    assert names_in(base) == [str(version) for version in versions]


def test_a_folder_on_another_file_system_has_the_copy_beside_its_versions(
    base, tmp_path, monkeypatch
):
    model, really_rename = write_model(tmp_path / "model"), os.rename
    sources = []

    def rename(source, target):
        sources.append(Path(source))
        if Path(source).parent != Path(target).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        really_rename(source, target)

    monkeypatch.setattr(os, "rename", rename)
    version = push_to(base, model)

    assert sources[-1] == base / ".pushing"
    assert names_in(base) == [str(version)]
    assert files_below(base / str(version)) == files_below(model)


@pytest.mark.slow
def test_a_pipeline_pushes_to_the_folder_that_is_named_when_it_runs(base, tmp_path, model):
    importer = Importer(model.uri, Model)
    pusher = Pusher(
        model=importer.outputs["result"],
        push_destination={"filesystem": {"base_directory": RuntimeParameter("where", str)}},
    )
    pipeline = Pipeline("pushing", str(tmp_path / "root"), components=[importer, pusher])

    run = LocalDagRunner().run(pipeline, {"where": str(base)})

    (pushed,) = run.outputs["Pusher"]["pushed_model"]
    assert pushed.get_string_custom_property("pushed_destination") == str(base / names_in(base)[0])
    assert len(list((tmp_path / "root" / ".stoker" / "pushes").iterdir())) == 1


@pytest.mark.parametrize("directory", ["", "nowhere://bucket/models"])
def test_a_destination_that_is_no_folder_says_what_to_do(tmp_path, model, directory):
    destination = PushDestination(filesystem={"base_directory": directory})
    values = Pusher(Channel(Model), push_destination=destination).spec.values({})
    output = {
        "pushed_model": [artifact(PushedModel, tmp_path / "root" / "Pusher" / "pushed_model" / "1")]
    }

    with pytest.raises(ValueError, match=r"custom_executor_spec|Copy or mount"):
        Executor().Do({"model": [model]}, output, values)


def test_a_pusher_without_a_destination_shows_one():
    with pytest.raises(ValueError, match=r"PushDestination\.Filesystem\(base_directory="):
        Pusher(model=Channel(Model))


def test_a_pusher_without_a_model_says_so():
    with pytest.raises(ValueError, match=r"needs a model: .* or an infra_blessing"):
        Pusher(push_destination=PushDestination())


def test_a_custom_executor_needs_no_destination():
    pusher = Pusher(
        model=Channel(Model),
        custom_config={"endpoint": "x"},
        custom_executor_spec=ExecutorClassSpec(Executor),
    )

    assert pusher.exec_properties == {"custom_config": '{"endpoint": "x"}'}


def test_what_a_push_that_died_had_begun_is_taken_away(do, base):
    (base / ".writing-abc").mkdir(parents=True)
    (base / ".writing-abc" / ".last_push").write_text("17")
    do()
    assert not list(base.glob(".writing-*"))
    assert len(versions_in(base)) == 1
