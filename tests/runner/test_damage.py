# SPDX-License-Identifier: Apache-2.0
"""What a run does about outputs that cannot be published, and inputs that are damaged."""

import json
import os
import re
from pathlib import Path

import pytest

from stoker.artifacts import Artifact, Model
from stoker.components.importer import Importer
from stoker.components.pusher import Pusher
from stoker.components.resolver import Resolver
from stoker.dsl import Channel, InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def leave(note: OutputArtifact[Note], what: Parameter[str]):
    if what == "a FIFO":
        os.mkfifo(os.path.join(note.uri, "left"))
    else:
        os.symlink(what, os.path.join(note.uri, "left"))


@component
def write(note: OutputArtifact[Note], model: OutputArtifact[Model]):
    Path(note.uri, "note.txt").write_text("hello")
    Path(model.uri, "weights").write_text("1234")


@component
def meddle(note: InputArtifact[Note], text: Parameter[str], name: Parameter[str]):
    """Somebody else who changes files of the pipeline while it runs."""
    if text:
        path = Path(note.uri, name)
        times = path.stat() if path.exists() else None
        path.write_text(text)
        if times:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@component
def read(note: InputArtifact[Note], copy: OutputArtifact[Note]):
    Path(copy.uri, "read").write_text(Path(note.uri, "note.txt").read_text())


def run(root, *components, launcher=None):
    pipeline = Pipeline("damage", str(root), components=list(components), enable_cache=True)
    LocalDagRunner(launcher).run(pipeline)
    with Store(pipeline.store_config(str(root))) as store:
        executions = store.executions(pipeline_name="damage")
    return {one.node_id: str(one.properties.get("cache_explanation", "")) for one in executions}


@pytest.mark.parametrize(
    ("what", "told", "launcher"),
    [
        ("a FIFO", "left is a FIFO", None),
        ("/dev", "left is a link to /dev, which is not part of the artifact", InProcess()),
        (".", "left is a link to a folder that it is in itself", InProcess()),
    ],
)
def test_an_output_that_cannot_be_published_is_refused_by_name(tmp_path, what, told, launcher):
    with pytest.raises(StepFailed, match=re.escape(told)) as failure:
        run(tmp_path, leave(what=what), launcher=launcher)
    assert str(failure.value).startswith("leave: its Note cannot be published: ")


@pytest.mark.parametrize(
    ("name", "text", "problem"), [("note.txt", "jello", "changed"), ("more.txt", "!", "added")]
)
def test_a_step_is_not_given_an_input_that_is_not_what_was_published(tmp_path, name, text, problem):
    def steps(text):
        writer = write()
        meddler = meddle(note=writer.outputs["note"], text=text, name=name)
        reader = read(note=writer.outputs["note"])
        reader.add_upstream_node(meddler)
        return writer, meddler, reader

    with pytest.raises(StepFailed, match=rf"read was not started.*{name}: {problem}.*verify"):
        run(tmp_path, *steps(text), launcher=InProcess())

    # What the message promises: the next run makes it anew.
    again = run(tmp_path, *steps(""), launcher=InProcess())
    assert re.fullmatch(rf"miss: .*{name}: {problem}", again["write"])
    copies = sorted((tmp_path / "read" / "copy").iterdir())
    assert (copies[-1] / "read").read_text() == "hello"


def test_a_resolver_passes_over_what_is_damaged(tmp_path, capsys):
    run(tmp_path, write(), launcher=InProcess())
    (folder,) = (tmp_path / "write" / "note").iterdir()
    (folder / "more.txt").touch()
    resolver = Resolver(note=Channel(type=Note, producer_component_id="write"))

    run(tmp_path, resolver, launcher=InProcess())

    assert "more.txt: added" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{")])
def test_a_manifest_that_is_lost_is_written_anew_if_the_files_are_right(tmp_path, damage):
    run(tmp_path, write(), launcher=InProcess())
    manifest = tmp_path / ".stoker" / "manifests" / "write" / "note" / "1.json"
    before = manifest.read_text()
    damage(manifest)
    assert run(tmp_path, write(), launcher=InProcess())["write"].startswith("hit")
    assert manifest.read_text() == before


def test_an_output_whose_manifest_is_lost_is_made_again_if_the_files_are_wrong(tmp_path):
    run(tmp_path, write(), launcher=InProcess())
    manifest = tmp_path / ".stoker" / "manifests" / "write" / "note" / "1.json"
    manifest.write_text("{")
    (tmp_path / "write" / "note" / "1" / "note.txt").write_text("jello")
    again = run(tmp_path, write(), launcher=InProcess())
    assert again["write"] == f"miss: {manifest}: the manifest is damaged"
    assert run(tmp_path, write(), launcher=InProcess())["write"].startswith("hit")


def test_a_model_is_read_before_it_is_pushed_whatever_its_times_say(tmp_path):
    run(tmp_path, write(), launcher=InProcess())
    weights = tmp_path / "write" / "model" / "1" / "weights"
    weights.write_text("4321")
    manifest = tmp_path / ".stoker" / "manifests" / "write" / "model" / "1.json"
    record = json.loads(manifest.read_text())
    record["files"][0]["ctime_ns"] = weights.stat().st_ctime_ns
    manifest.write_text(json.dumps(record))

    writer, served = write(), tmp_path / "served"
    destination = {"filesystem": {"base_directory": str(served)}}
    pusher = Pusher(model=writer.outputs["model"], push_destination=destination)
    with pytest.raises(StepFailed, match=r"Pusher was not started.*weights: changed"):
        run(tmp_path, writer, pusher, launcher=InProcess())
    assert not served.exists()


def test_a_model_is_compared_by_its_digest_wherever_it_comes_from(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "note.txt").write_text("1234")
    importer = Importer(str(mine), Model)
    note = Importer(str(mine), Note).with_id("note")
    meddler = meddle(note=note.outputs["result"], text="4321", name="note.txt")
    served = tmp_path / "served"
    pusher = Pusher(
        model=importer.outputs["result"],
        push_destination={"filesystem": {"base_directory": str(served)}},
    )
    pusher.add_upstream_node(meddler)

    with pytest.raises(StepFailed, match="Pusher was not started: its Model is not what was"):
        run(tmp_path / "root", importer, note, meddler, pusher, launcher=InProcess())
    assert not served.exists()
