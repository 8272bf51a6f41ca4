# SPDX-License-Identifier: Apache-2.0
"""Whose a file is."""

import sys

import pytest

from stoker.any_python.notes import Places

HOME = "/home/someone"


@pytest.fixture
def places(monkeypatch):
    monkeypatch.setenv("HOME", HOME)
    return Places(
        [f"{HOME}/project", "/tmp/trial", f"{HOME}/project/.venv/lib/site-packages/own"],
        [f"{HOME}/project/root", "/scratch/job"],
    )


@pytest.mark.parametrize(
    "path",
    [
        f"{HOME}/project/config.json",
        f"{HOME}/project/.env",
        f"{HOME}/project/deep/vocabulary.txt",
        "/tmp/trial/config.json",
        "/data/config.json",
        f"{HOME}/project/.venv/lib/site-packages/own/module.py",
    ],
)
def test_what_lies_with_the_code_or_nowhere_special_is_the_users(places, path):
    assert places.is_users(path)


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/__autograph_generated_file1.py",
        "/scratch/job/__autograph_generated_file1.py",
        f"{HOME}/project/root/Trainer/model/1/saved_model.pb",
        f"{HOME}/project/.venv/lib/site-packages/pandas/__init__.py",
        f"{HOME}/project/__pycache__/module.cpython-311.pyc",
        f"{HOME}/.keras/keras.json",
        "/etc/hosts",
        "/proc/self/stat",
        f"{sys.prefix}/pyvenv.cfg",
        sys.modules["stoker"].__file__,
    ],
)
def test_what_is_temporary_installed_or_the_pipelines_is_not(places, path):
    assert not places.is_users(path)
