# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import note_pipeline
import pytest

from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.metadata.store import Store
from stoker.storage.locks import hold_dir, hold_run_lock
from stoker.storage.root import Root

pytestmark = pytest.mark.slow


@pytest.fixture
def abandoned(root, run):
    with pytest.raises(StepFailed):
        note_pipeline.fail_notes(root)
    (path,) = (root / "fail_late" / "note").iterdir()
    return path


def removed(stoker, *words):
    return [Path(one["path"]) for one in stoker("clean", "--json", *words).record["leftovers"]]


def test_outputs_that_were_never_published_are_removed(stoker, abandoned):
    assert abandoned in removed(stoker)
    assert not abandoned.exists()
    assert stoker("verify").code == 0


def test_a_dry_run_removes_nothing_and_says_what_it_would(stoker, abandoned):
    out = stoker("clean", "--dry-run").out
    assert "Note that was not published" in out
    assert "Would free 1.0 kB" in out
    assert (abandoned / "half").exists()


def test_a_second_time_there_is_nothing_left(stoker, abandoned):
    stoker("clean")
    assert stoker("clean").out == "Freed 0 B in 0 places.\n"


def test_scratch_files_go_with_the_run_that_held_its_lock(stoker, root, run):
    with hold_run_lock(Root(str(root))) as run_id:
        scratch = Path(Root(str(root)).tmp_dir(run_id))
        scratch.mkdir(parents=True)
        assert scratch not in removed(stoker)
    assert scratch in removed(stoker)
    assert not scratch.exists()


def test_drafts_of_manifests_go_when_no_run_can_be_writing_them(stoker, root, run):
    draft = root / ".stoker" / "manifests" / "note" / ".writing-abc"
    draft.mkdir(parents=True)  # as a run that was killed in the middle of it leaves it
    with hold_run_lock(Root(str(root))):
        assert draft not in removed(stoker)
    assert draft in removed(stoker)
    assert not draft.exists()


def test_checkpoints_go_when_no_run_is_at_the_work(stoker, root, run):
    checkpoints = root / ".stoker" / "checkpoints" / "Trainer" / "0123456789abcdef"
    with hold_dir(str(checkpoints), otherwise=str(root / "alone")):
        assert checkpoints not in removed(stoker)
    checkpoints.mkdir()  # as a run that was stopped leaves it
    assert checkpoints in removed(stoker)
    assert not checkpoints.exists()


def test_a_lock_that_nobody_holds_is_removed_once_no_run_can_be_starting(stoker, root, run):
    lock = root / ".stoker" / "runs" / "2020-01-01T00:00:00.lock"
    lock.touch()
    assert lock not in removed(stoker)
    os.utime(lock, (0, 0))
    assert lock in removed(stoker)


def test_a_lock_that_is_held_stays(stoker, root, run):
    with hold_run_lock(Root(str(root))) as run_id:
        lock = Root(str(root)).run_lock(run_id)
        os.utime(lock, (0, 0))
        assert Path(lock) not in removed(stoker)


def test_what_a_run_is_writing_stays(stoker, root, run):
    pending = note_pipeline.Note()
    pending.uri = str(root / "write" / "note" / "9")
    Path(pending.uri).mkdir()
    with Store(Pipeline("notes", str(root)).store_config(str(root))) as store:
        store.begin_execution(
            pipeline_name="notes",
            run_id=run.id,
            node_id="write",
            type_name="write",
            properties={},
            inputs={},
            outputs=lambda _: {"note": [pending]},
        )
    assert Path(pending.uri) not in removed(stoker)
    assert Path(pending.uri).exists()


def test_files_outside_the_pipeline_root_are_never_removed(stoker, here, root, run):
    stray = note_pipeline.Note()
    stray.uri = str(here / "precious" / "note" / "1")
    Path(stray.uri).mkdir(parents=True)
    with Store(Pipeline("notes", str(root)).store_config(str(root))) as store:
        execution_id = store.begin_execution(
            pipeline_name="notes",
            run_id=run.id,
            node_id="write",
            type_name="write",
            properties={},
            inputs={},
            outputs=lambda _: {"note": [stray]},
        )
        store.publish(execution_id, {})
    assert Path(stray.uri) not in removed(stoker)
    assert Path(stray.uri).exists()
