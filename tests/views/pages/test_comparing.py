# SPDX-License-Identifier: Apache-2.0
"""What differs between runs: the lines of a module that was edited between them."""

import pytest

from stoker.storage.root import Root
from stoker.views.pages.comparing import compare_runs
from stoker.views.pages.run_reading import RunRecord, StepRecord


def make_run(root, number, code="", **parameters):
    """A run whose Trainer has loaded a module, as the runner keeps it."""
    digest = f"{number:064x}"
    if code:
        path = root / ".stoker/sources" / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    step = StepRecord(
        node_id="Trainer",
        type_name="Trainer",
        state="complete",
        execution_id=number,
        parameters=parameters,
        parts={"file module.py": digest, "version of Keras": "3"},
    )
    return RunRecord(
        run_id=f"run {number}",
        pipeline_name="taxi",
        state="complete",
        root=str(root),
        started_ms=0,
        ended_ms=1000 * number,
        num_steps=1,
        steps=[step],
        edges=[],
        metrics={"loss": float(number)},
    )


def test_the_lines_that_differ_are_shown_where_both_versions_are_known(tmp_path):
    runs = [make_run(tmp_path, 1, "a = 1\nb = 2\n"), make_run(tmp_path, 2, "a = 1\nb = 3\n")]
    (change,) = compare_runs(runs).code
    assert (change.step, change.part) == ("Trainer", "file module.py")
    assert [line for line in change.diffs["run 2"] if line[0] in "+-" and line[1] not in "+-"] == [
        "-b = 2",
        "+b = 3",
    ]


def test_a_file_that_was_not_kept_is_told_to_differ(tmp_path):
    (change,) = compare_runs([make_run(tmp_path, 1), make_run(tmp_path, 2, "a = 1")]).code
    assert change.diffs == {}


def test_a_digest_leads_nowhere_else(tmp_path):
    (tmp_path / "secret").write_text("secret")
    runs = [make_run(tmp_path, number) for number in (1, 2)]
    parts = {"file module.py": "../../secret"}
    step = StepRecord(
        node_id="Trainer", type_name="", state="complete", execution_id=2, parts=parts
    )
    object.__setattr__(runs[1], "steps", [step])
    (change,) = compare_runs(runs).code
    assert change.diffs == {}
    assert Root(str(tmp_path)).source_file("x").startswith(str(tmp_path))


def test_only_what_differs_is_in_the_record(tmp_path):
    runs = [
        make_run(tmp_path, 1, rate=0.1, args='{"num_steps": 5}'),
        make_run(tmp_path, 2, rate=0.2, args='{"num_steps": 5}'),
    ]
    record = compare_runs(runs).to_record()
    assert record["parameters"] == {"Trainer.rate": {"run 1": 0.1, "run 2": 0.2}}
    assert record["metrics"] == {"loss": {"run 1": 1.0, "run 2": 2.0}}
    assert record["other"] == {}


@pytest.mark.parametrize("number", [0, 1, 11])
def test_two_to_ten_runs_are_compared(tmp_path, number):
    with pytest.raises(ValueError, match="2 to 10 runs can be compared"):
        compare_runs([make_run(tmp_path, one) for one in range(number)])
