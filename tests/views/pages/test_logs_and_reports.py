# SPDX-License-Identifier: Apache-2.0
"""Logs as they grow, and reports that stay small whatever was printed."""

from test_comparing import make_run

from stoker.views.pages.report import LARGEST, render_report
from stoker.views.pages.run_reading import RunRecord, StepRecord, read_log


def test_a_log_goes_on_where_it_was_left(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("one\ntwo\n")
    first = read_log(str(log))
    assert first.text == "one\ntwo\n"
    with log.open("a") as file:
        file.write("three\n")
    assert read_log(str(log), first.next_offset).text == "three\n"


def test_half_a_character_waits_for_the_rest(tmp_path):
    log = tmp_path / "log.txt"
    whole = "größer\n".encode()
    log.write_bytes(b"a\n" + whole[:3])
    first = read_log(str(log), 0)
    assert first.text == "a\n"
    log.write_bytes(b"a\n" + whole)
    assert read_log(str(log), first.next_offset).text == "größer\n"


def test_of_a_long_log_the_end_is_shown(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)))
    part = read_log(str(log))
    assert part.text.endswith("line 99999\n")
    assert part.text.startswith("line ")
    assert part.left_out > 900_000


def test_a_log_that_is_gone_says_nothing(tmp_path):
    assert read_log(str(tmp_path / "nothing")).text == ""


def test_a_report_of_long_logs_stays_small(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("<&>\n" * 1_000_000)
    steps = [
        StepRecord(
            node_id=f"step {number}",
            type_name="Step",
            state="complete",
            execution_id=number,
            log_file=str(log),
        )
        for number in range(1, 60)
    ]
    values = {name: getattr(make_run(tmp_path, 1), name) for name in RunRecord.__slots__}
    report = render_report(RunRecord(**{**values, "steps": steps}))
    assert "&lt;&amp;&gt;" in report
    assert len(report) < LARGEST
