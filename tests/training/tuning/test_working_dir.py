# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from stoker.artifacts import Examples
from stoker.storage.held_dirs import hold
from stoker.training.tuning.working_dir import digest_of, working_dir_for


@pytest.fixture
def module(tmp_path):
    (tmp_path / "neighbour.py").write_text("UNITS = 8\n")
    file = tmp_path / "module.py"
    file.write_text("import neighbour\n\ndef tuner_fn(fn_args): ...\n")
    return file


def examples(uri, digest="abc"):
    made = Examples()
    made.uri, made.splits = str(uri), ["train"]
    made.custom_properties["content_digest"] = digest
    return {"examples": [made]}


def digest(module, inputs=None, **parameters):
    return digest_of(
        examples("/data") if inputs is None else inputs,
        {"module_file": str(module), **parameters},
    )


def test_other_code_parameters_or_inputs_are_other_work(module):
    digests = [
        digest(module),
        digest(module, train_args='{"num_steps": 5}'),
        digest(module, examples("/data", "xyz")),
    ]
    (module.parent / "neighbour.py").write_text("UNITS = 16\n")
    digests.append(digest(module))
    assert len(set(digests)) == 4


def test_the_number_of_parallel_trials_and_places_do_not_matter(module, tmp_path):
    moved = tmp_path / "elsewhere" / "module.py"
    moved.parent.mkdir()
    for name in ("module.py", "neighbour.py"):
        (moved.parent / name).write_text((tmp_path / name).read_text())
    assert digest(module) == digest(moved, examples("/copy"), tune_args='{"x": 2}')


def test_inputs_from_outside_are_told_apart_by_their_files(module, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    inputs = examples(data, digest="")
    before = digest(module, inputs)
    (data / "file").write_text("new")
    assert digest(module, inputs) != before


def test_the_directory_is_below_the_pipeline_root(tmp_path):
    output = str(tmp_path / "Tuner" / "best_hyperparameters" / "7")
    assert working_dir_for(output, "abc") is None  # no runner has been here
    (tmp_path / ".stoker").mkdir()
    assert working_dir_for(output, "abc") == str(tmp_path / ".stoker" / "tuning" / "Tuner-abc")


def test_a_search_that_ends_leaves_nothing_behind(tmp_path):
    directory = tmp_path / "work"
    with hold(str(directory), otherwise="") as held:
        Path(held, "trial.json").write_text("{}")
    assert not directory.exists()


def test_a_search_that_is_stopped_leaves_its_state_for_the_next_attempt(tmp_path):
    directory = str(tmp_path / "work")

    def search(fail):
        with hold(directory, otherwise="") as held:
            found = os.path.exists(os.path.join(held, "trial.json"))
            Path(held, "trial.json").write_text("{}")
            if fail:
                raise OSError("no space left")
        return found

    with pytest.raises(OSError, match="no space"):
        search(fail=True)
    assert search(fail=False)


def test_a_second_search_for_the_same_gets_a_directory_of_its_own(tmp_path):
    directory, own = str(tmp_path / "work"), str(tmp_path / "own")
    with hold(directory, otherwise="") as first, hold(directory, otherwise=own) as second:
        assert (first, second) == (directory, own)


def test_outside_of_a_pipeline_the_search_gets_a_temporary_directory(tmp_path):
    with hold(None, otherwise=str(tmp_path)) as held:
        assert held == str(tmp_path)
    assert tmp_path.exists()
