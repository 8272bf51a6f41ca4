# SPDX-License-Identifier: Apache-2.0
from collections import namedtuple
from dataclasses import replace

import pytest

from stoker.cli import doctor as module
from stoker.cli.doctor import diagnose
from stoker.patches.registry import PATCHES

WELL = {
    "tensorflow": "2.21.0",
    "tf_keras": "2.21.0",
    "keras": "3.1",
    "tensorflow_transform": "1.21.0",
    "tfx_bsl": "1.21.0",
    "apache_beam": "2.70",
    "gpus": ["/physical_device:GPU:0"],
}


def problems(report, root="."):
    return {one.what: one for one in diagnose(report, str(root)) if one.state == "problem"}


def test_a_machine_that_has_everything_has_no_problem(tmp_path):
    assert problems(WELL, tmp_path) == {}


def test_a_part_that_cannot_be_imported_is_a_problem_with_its_error():
    report = {**WELL, "keras failed": "ImportError: no"}
    del report["keras"]
    assert problems(report)["Keras 3"].found == "ImportError: no"


@pytest.mark.parametrize("name", ["tfx", "ml-pipelines-sdk"])
def test_a_real_tfx_beside_stoker_is_a_problem_that_says_what_to_do(tmp_path, monkeypatch, name):
    folder = tmp_path / f"{name.replace('-', '_')}-1.16.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.16.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    problem = problems(WELL)["TFX"]
    assert f"{name} 1.16.0" in problem.found
    assert "pip uninstall tfx ml-pipelines-sdk" in problem.advice


def test_every_patch_has_a_line_and_one_that_was_not_tried_is_a_problem(monkeypatch):
    untried = replace(PATCHES["keras-workers"], tried="2.0 to 2.9")
    monkeypatch.setitem(PATCHES, "keras-workers", untried)
    lines = {one.what for one in diagnose(WELL, ".")}
    assert {f"Patch {name}" for name in PATCHES} <= lines
    (problem,) = problems(WELL).values()
    assert "tried with keras 2.0 to 2.9: install one of those, use Keras 2" in problem.advice


def test_a_full_disk_is_a_problem(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 5, 5))
    assert problems(WELL, tmp_path / "not" / "made" / "yet")["Disk"].found.startswith("5 B free at")


@pytest.mark.parametrize(
    ("device", "state"), [("nowhere", "note"), ("there", "problem")], ids=["none", "unseen"]
)
def test_a_gpu_that_tensorflow_does_not_see_is_a_problem(tmp_path, monkeypatch, device, state):
    (tmp_path / "there").touch()
    monkeypatch.setattr(module, "_GPU_DEVICE", str(tmp_path / device))
    (gpu,) = (one for one in diagnose({**WELL, "gpus": []}, ".") if one.what == "GPU")
    assert gpu.state == state


@pytest.mark.tf
def test_this_environment_is_well(stoker, here):
    result = stoker("doctor", "--json")
    by_name = {one["what"]: one for one in result.record}
    assert result.code == 0, result.out
    assert by_name["TensorFlow"]["found"].startswith("2.")
    assert by_name["Keras 2 (tf_keras)"]["found"].startswith("2.")
    assert by_name["Keras 3"]["found"].startswith("3.")
