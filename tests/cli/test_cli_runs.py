# SPDX-License-Identifier: Apache-2.0
import note_pipeline
import pytest

from stoker.errors import StepFailed


def test_runs_are_listed_newest_first_with_how_they_ended(stoker, root, run):
    cached = note_pipeline.run_notes(root)
    with pytest.raises(StepFailed):
        note_pipeline.fail_notes(root)
    failed, second, first = stoker("runs", "--json").record
    assert failed["state"] == "failed"
    assert (second["run"], second["state"], second["cached"]) == (cached.id, "complete", 2)
    assert (first["run"], first["state"], first["cached"]) == (run.id, "complete", 0)


def test_elsewhere_than_at_a_terminal_the_table_is_plain_and_aligned(stoker, run):
    header, row = stoker("runs").out.splitlines()
    assert header.split() == ["RUN", "PIPELINE", "STATE", "STEPS", "CACHED", "STARTED", "TOOK"]
    assert row.startswith(run.id)
    assert row.index("notes") == header.index("PIPELINE")


def test_a_number_limits_the_list(stoker, root, run):
    newest = note_pipeline.run_notes(root)
    assert [one["run"] for one in stoker("runs", "-n", 1, "--json").record] == [newest.id]


def test_an_unknown_pipeline_is_told_the_known_ones(stoker, run):
    result = stoker("runs", "nots")
    assert result.code == 2
    assert "There is no pipeline 'nots'; there is notes. Did you mean 'notes'?" in result.err
