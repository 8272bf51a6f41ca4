# SPDX-License-Identifier: Apache-2.0
"""`stoker report` writes a run as one file that needs nothing else."""

import re

import note_pipeline
import pytest

from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


def test_a_report_is_one_file_that_needs_nothing_else(stoker, here, run):
    assert stoker("report", "last", "-o", "page.html").code == 0
    page = (here / "page.html").read_text()
    assert run.id in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert "url(" not in page


def test_its_name_is_that_of_the_run(stoker, here, run):
    record = stoker("report", "last", "--json").record
    assert record["file"] == f"report-{run.id.replace(':', '-')}.html"
    assert (here / record["file"]).stat().st_size == record["bytes"]


def test_an_unknown_run_is_refused(stoker, run):
    assert "There is no run 'nobody'" in stoker("report", "nobody").err


def test_a_run_that_fails_leaves_its_report(root, capsys):
    pipeline = Pipeline("notes", str(root), components=[note_pipeline.fail_late()])
    with pytest.raises(StepFailed):
        LocalDagRunner(InProcess(), report=True).run(pipeline)
    (report,) = root.glob("report-*.html")
    assert "the disk is full" in report.read_text()
    assert f"Report: {report.relative_to(root.parents[1])}" in capsys.readouterr().err


def test_without_asking_there_is_no_report(root, run):
    assert not list(root.glob("report-*.html"))
