# SPDX-License-Identifier: Apache-2.0
import note_pipeline

from stoker.components.importer import Importer
from stoker.dsl import Pipeline
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


def test_a_first_run_is_a_miss(stoker, run):
    record = stoker("explain", "write", "--json").record
    assert record["state"] == "complete"
    assert record["explanation"].startswith("miss")


def test_a_changed_parameter_is_named(stoker, root, run):
    note_pipeline.run_notes(root, text="other")
    assert "parameter text changed" in stoker("explain", "write").out


def test_the_run_itself_says_why_a_step_could_not_be_reused(root, run, capfd):
    assert "because" not in capfd.readouterr().err
    note_pipeline.run_notes(root, text="other")
    lines = capfd.readouterr().err.splitlines()  # a slow machine tells of its progress in between
    writing, counting = [line for line in lines if line.startswith("[")]
    assert writing.startswith("[1/2] write done in ")
    assert writing.endswith(" s, because parameter text changed")
    assert counting.endswith(" s, because input note changed")
    note_pipeline.run_notes(root, text="third", config="{1: 2}")
    assert ", because parameter text changed, and 1 more" in capfd.readouterr().err


def test_a_second_run_is_a_hit(stoker, root, run):
    note_pipeline.run_notes(root)
    record = stoker("explain", "count", "--json").record
    assert record["state"] == "cached"
    assert record["explanation"].startswith("hit")


def test_the_parts_of_the_key_are_a_table(stoker, run):
    out = stoker("explain", "count", "--parts").out
    assert "PART" in out
    assert "input note" in out


def test_a_pipeline_without_a_cache_is_a_miss_that_says_so(stoker, root):
    step = note_pipeline.write(text="a")
    LocalDagRunner(InProcess()).run(Pipeline("notes", str(root), components=[step]))
    assert "enable_cache=False" in stoker("explain", "write").out


def test_a_step_that_is_never_cached_says_so(stoker, here, root):
    importer = Importer(source_uri=str(here), artifact_type=note_pipeline.Note)
    LocalDagRunner(InProcess()).run(Pipeline("notes", str(root), components=[importer]))
    assert "steps of this kind are never cached" in stoker("explain", "Importer").out


def test_an_unknown_step_is_wrong_usage(stoker, run):
    result = stoker("explain", "wrte")
    assert result.code == 2
    assert "no run, artifact or step 'wrte'" in result.err
