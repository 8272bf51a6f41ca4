# SPDX-License-Identifier: Apache-2.0
"""Searches in real workers, with a function instead of a model: what ends them, and how."""

import sys

import pytest
from searching import BOX, box, examples, logged, results, run

from stoker.components.tuner.component import Tuner
from stoker.errors import StepFailed

pytestmark = [pytest.mark.tf, pytest.mark.slow]


def scores(rows):
    return {row["x"]: row["score"] for row in rows}


def test_a_search_tells_about_every_trial_and_removes_its_state(tmp_path, launcher, capfd):
    rows = results(run(tmp_path, launcher, box(tmp_path)))
    assert [row["score"] for row in rows] == sorted(row["score"] for row in rows)
    assert {row["trial_id"] for row in rows} == {"0", "1", "2", "3"}
    told = capfd.readouterr().err
    assert told.count(", trial ") == 4
    assert f"*  {rows[0]['trial_id']} " in told
    assert list(tmp_path.glob("root/.stoker/checkpoints/Tuner/*")) == []


def test_parallel_trials_are_the_trials_of_one_after_the_other(tmp_path, launcher):
    ended = run(
        tmp_path,
        launcher,
        box(tmp_path, name="one", arguments={"max_trials": 8}),
        box(tmp_path, name="two", parallel=2, arguments={"max_trials": 8}, seconds=0.1),
    )
    assert scores(results(ended, "one")) == scores(results(ended, "two"))
    assert len(logged(tmp_path, "ended", "two")) == 8


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_trial_that_fails_is_recorded_and_the_search_goes_on(tmp_path, launcher, parallel):
    rows = results(run(tmp_path, launcher, box(tmp_path, parallel=parallel, fail=["1"])))
    (failed,) = (row for row in rows if row["score"] is None)
    assert failed["trial_id"] == "1"
    assert failed["error"] == "ZeroDivisionError: no luck with trial 1"
    assert failed is rows[-1]
    assert len(rows) == 4


@pytest.mark.parametrize("parallel", [1, 2])
def test_when_all_trials_fail_the_first_ones_error_comes_first(tmp_path, launcher, parallel, capfd):
    tuner = box(tmp_path, parallel=parallel, fail=["0", "1"], arguments={"max_trials": 2})
    with pytest.raises(StepFailed, match="ZeroDivisionError: no luck with trial 0\nNo trial") as e:
        run(tmp_path, launcher, tuner)
    assert "all 2 failed" in str(e.value)
    assert 'raise ZeroDivisionError(f"no luck' in capfd.readouterr().err
    assert list(tmp_path.glob("root/.stoker/checkpoints/Tuner/*")) == []


@pytest.mark.parametrize("parallel", [1, 2])
def test_too_many_failures_in_a_row_stop_the_search(tmp_path, launcher, parallel):
    limit = {"max_consecutive_failed_trials": 2, "max_trials": 20}
    fail = [f"{number:02}" for number in range(1, 20)]
    with pytest.raises(StepFailed, match=r"2 trials in a row failed.* was trial 0\d"):
        run(tmp_path, launcher, box(tmp_path, parallel=parallel, fail=fail, arguments=limit))
    assert len(logged(tmp_path, "started")) <= 1 + 2 * parallel


def test_the_trial_of_a_worker_that_dies_is_recorded_as_failed(tmp_path, launcher):
    rows = results(run(tmp_path, launcher, box(tmp_path, parallel=2, die=["1"])))
    assert len(rows) == 4
    assert rows[-1]["trial_id"] == "1"
    assert "died (killed by SIGKILL)" in rows[-1]["error"]


def test_the_trial_of_a_worker_that_dies_is_tried_again_if_retries_are_left(tmp_path, launcher):
    tuner = box(tmp_path, parallel=2, die=["1"], arguments={"max_retries_per_trial": 1})
    rows = results(run(tmp_path, launcher, tuner))
    assert logged(tmp_path, "died") == ["1"]
    assert None not in [row["score"] for row in rows]


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_directory_of_the_users_own_works(tmp_path, launcher, parallel):
    given = {"directory": str(tmp_path / "own"), "arguments": {"overwrite": True}}
    run(tmp_path, launcher, box(tmp_path, parallel=parallel, **given))
    assert sorted(path.name for path in (tmp_path / "own" / "box").glob("trial_*")) == [
        f"trial_{number}" for number in range(4)
    ]


def test_a_tuner_that_ends_its_trials_as_old_keras_tuner_did_works(tmp_path, launcher):
    rows = results(run(tmp_path, launcher, box(tmp_path, in_old_style=True)))
    assert len(rows) == 4
    assert None not in [row["score"] for row in rows]


BAD = {
    "returns_none": ("def tuner_fn(fn_args): return None", "tuner_fn returned None"),
    "no_tuner": (
        "from tfx.v1.components import TunerFnResult\n"
        "def tuner_fn(fn_args): return TunerFnResult('tuner', {})",
        "takes a tuner of KerasTuner, such as RandomSearch, got 'tuner'",
    ),
    "no_objective": (
        "def tuner_fn(fn_args): return TunerFnResult(\n"
        "    keras_tuner.RandomSearch(lambda hp: None, directory=fn_args.working_dir), {})",
        "has no objective. Name the metric",
    ),
    "bad_kwargs": (
        "def tuner_fn(fn_args):\n"
        "    tuner = keras_tuner.RandomSearch(\n"
        "        lambda hp: None, 'val_loss', directory=fn_args.working_dir)\n"
        "    return TunerFnResult(tuner, [1])",
        r"fit_kwargs takes a dict, got \[1\]",
    ),
    "raises": ("def tuner_fn(fn_args): raise OSError('gone')", "OSError: gone"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_code_is_refused_before_the_search_starts(tmp_path, launcher, case):
    text, told = BAD[case]
    module = tmp_path / "module.py"
    module.write_text(
        f"import keras_tuner\nfrom tfx.v1.components import TunerFnResult\n\n{text}\n"
    )
    tuner = Tuner(examples=examples(tmp_path), module_file=str(module))
    with pytest.raises(StepFailed, match=told):
        run(tmp_path, launcher, tuner)


def test_an_unknown_split_is_told_those_that_exist(tmp_path, launcher):
    tuner = Tuner(
        examples=examples(tmp_path), module_file=str(BOX), train_args={"splits": ["trian"]}
    )
    with pytest.raises(StepFailed, match=r"no split 'trian'; it has \['train', 'eval'\]"):
        run(tmp_path, launcher, tuner)


def test_an_error_that_is_not_a_trials_ends_a_parallel_search(tmp_path, launcher, capfd):
    tuner = box(tmp_path, parallel=2, forget_the_score=True)
    with pytest.raises(StepFailed, match=r"FatalTypeError: .* is None"):
        run(tmp_path, launcher, tuner)
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_oracle_listens_on_loopback_only(tmp_path, launcher):
    run(tmp_path, launcher, box(tmp_path, parallel=2, note_sockets=True))
    port, *sockets = (tmp_path / "log" / "Tuner" / "sockets").read_text().splitlines()
    addresses = {line.split()[1].rpartition(":") for line in sockets if line}
    listening = {host for host, _, one in addresses if int(one, 16) == int(port)}
    assert listening  # as IPv4, or as IPv4 inside IPv6
    assert listening <= {"0100007F", "0000000000000000FFFF00000100007F"}
