# SPDX-License-Identifier: Apache-2.0
"""Commands are driven as a shell drives them: words in, text and an exit code out."""

import json
from dataclasses import dataclass

import note_pipeline
import pytest

from stoker.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def record(self):
        return json.loads(self.out)


@pytest.fixture
def stoker(capsys):
    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(left.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def root(here):
    return here / "out" / "notes"


@pytest.fixture
def run(root):
    return note_pipeline.run_notes(root)


@pytest.fixture
def note(run):
    return run.outputs["write"]["note"][0]
