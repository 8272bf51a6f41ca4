# SPDX-License-Identifier: Apache-2.0
"""The log of a step on a disk that takes no more."""

import os

from stoker.launchers.step_log import StepLog


class Heard(list):
    """A watcher that keeps what it is told."""

    def event(self, record):
        self.append(record)


def test_a_log_has_what_was_printed_and_what_was_said(tmp_path):
    log = StepLog(str(tmp_path / "logs" / "log.txt"), Heard())
    log.write(b"printed\n")
    log.write_event({"kind": "progress", "step": 1})
    log.write_event({"kind": "warning", "node": "Trainer", "text": "slow"})
    log.write_event({"kind": "note", "text": "goes on"})
    log.close()

    text = (tmp_path / "logs" / "log.txt").read_text()
    assert text == "printed\nTrainer: warning: slow\ngoes on\n"


def test_a_full_disk_is_told_once_and_nothing_is_raised(tmp_path):
    os.symlink("/dev/full", tmp_path / "log.txt")
    heard = Heard()
    log = StepLog(str(tmp_path / "log.txt"), heard)
    for _ in range(3):
        log.write(b"a line\n")
    log.close()

    (record,) = heard
    assert record["kind"] == "warning"
    assert "log.txt is not whole: No space left on device." in record["text"]


def test_a_log_that_cannot_be_opened_is_told_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    heard = Heard()
    StepLog(str(tmp_path / "file" / "log.txt"), heard).write(b"a line\n")

    assert len(heard) == 1
