# SPDX-License-Identifier: Apache-2.0
import note_pipeline

from stoker.dsl import Pipeline
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


def test_a_value_is_traced_back_to_where_it_came_from(stoker, run, note):
    length = run.outputs["count"]["length"][0]
    assert stoker("lineage", length.id).out.splitlines() == [
        f"Integer {length.id}  out/notes/count/length/2/value",
        "└─ count, execution 2",
        f"   └─ note: Note {note.id}  out/notes/write/note/1",
        "      └─ write, execution 1",
    ]


def test_down_shows_what_was_made_from_it(stoker, run, note):
    assert stoker("lineage", "--down", note.id).out.splitlines()[1:] == [
        "└─ count, execution 2",
        "   └─ length: Integer 2  out/notes/count/length/2/value",
    ]


def test_what_was_drawn_before_is_not_drawn_again(stoker, root):
    writing = note_pipeline.write(text="a")
    note = writing.outputs["note"]
    counts = [note_pipeline.count(note=note).with_id(name) for name in ("one", "two")]
    both = note_pipeline.compare(
        first=counts[0].outputs["length"], second=counts[1].outputs["length"], note=note
    )
    pipeline = Pipeline("notes", str(root), components=[writing, *counts, both])
    same = LocalDagRunner(InProcess()).run(pipeline).outputs["compare"]["same"][0]
    lines = stoker("lineage", same.id).out.splitlines()
    assert sum("write, execution" in line for line in lines) == 1
    assert sum("(see above)" in line for line in lines) == 2


def test_json_lists_artifacts_executions_and_links(stoker, run, note):
    length = run.outputs["count"]["length"][0]
    record = stoker("lineage", length.id, "--json").record
    assert [one["id"] for one in record["artifacts"]] == [note.id, length.id]
    assert [one["node"] for one in record["executions"]] == ["write", "count"]
    assert {"artifact": note.id, "execution": 2, "key": "note", "as": "input"} in record["links"]


def test_an_unknown_artifact_is_wrong_usage(stoker, run):
    result = stoker("lineage", 99)
    assert result.code == 2
    assert "stoker: The store has no artifact 99." in result.err
