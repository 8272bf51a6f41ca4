# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and Ctrl-C: at once, or at the next step."""

import os
import signal
import threading
import time
import warnings

import pytest

from stoker.any_python.forking import defer_stop, is_stop_wanted, raise_on_sigterm


def send(number):
    os.kill(os.getpid(), number)
    time.sleep(0.01)  # Python hears it between two of its own steps


def test_sigterm_ends_what_is_done_like_ctrl_c():
    with raise_on_sigterm(), pytest.raises(KeyboardInterrupt):
        send(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_programs_own_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("mine"))
    try:
        with raise_on_sigterm():
            send(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == ["mine"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_training_that_can_save_is_only_told(number):
    with raise_on_sigterm(), defer_stop():
        assert not is_stop_wanted()
        send(number)
        assert is_stop_wanted()


def test_a_second_ctrl_c_does_not_wait():
    with raise_on_sigterm(), defer_stop():
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_processes_that_user_code_forks_hear_signals_as_usual(number):
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    with raise_on_sigterm(), defer_stop(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process may have threads
        pid = os.fork()
        if pid == 0:
            os._exit(0 if signal.getsignal(number) is usual[number] else 1)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_next_run_begins_unasked():
    with raise_on_sigterm(), defer_stop():
        send(signal.SIGTERM)
    with raise_on_sigterm():
        assert not is_stop_wanted()


def test_a_thread_that_hears_no_signals_changes_nothing():
    def train():
        with raise_on_sigterm(), defer_stop():
            handlers.append(signal.getsignal(signal.SIGTERM))

    handlers = []
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert handlers == [signal.SIG_DFL]
