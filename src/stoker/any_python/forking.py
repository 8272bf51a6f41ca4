# SPDX-License-Identifier: Apache-2.0
"""Clean processes: forks that end with the process that made them, and bring their errors home.

    Child       a fork and a pipe to it: what it sends, what it raised, how it died
    ForkServer  a fork that runs no op itself, and so can fork children at any time

TensorFlow's threads do not survive a fork, so fork before it runs its first op: `may_fork`.

SIGTERM, or Ctrl-C, ends what a process does as a KeyboardInterrupt. Training that can save its
state first asks `is_stop_wanted` between two steps, inside of `defer_stop`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterator, NoReturn

from .streams import flush_streams

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 1.0
_AFTER_FORK_SECONDS = 0.05

Work = Callable[..., None]
"""What a child does. Its first argument is its end of the pipe."""
_USUAL: dict[signal.Signals, Any] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}


def num_cpus() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Whether a fork of this process could still use TensorFlow."""
    return sys.platform == "linux" and not has_run_an_op()


def has_run_an_op() -> bool:
    """Whether TensorFlow has started its threads here."""
    context: Any = sys.modules.get("tensorflow.python.eager.context")
    current = context and context.context_safe()
    return bool(current and current._initialized)


def fork() -> int:
    """As os.fork; the child is killed when the thread that forked it ends, however that happens."""
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns about forking with threads; TensorFlow's have run nothing yet.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _end_with(parent)
    return pid


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes  # takes its time, and most who import this file fork nothing

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it ended before the system was told
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def wait_for_exit(pid: int) -> int:
    """The exit code of a child, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


class ProcessDied(Exception):
    """A child ended without a word: it was killed, or something in it called exit."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code

    def __str__(self) -> str:
        if self.exit_code < 0:
            return f"killed by {signal.Signals(-self.exit_code).name}"
        return f"exit code {self.exit_code}"


class ProcessRaised(Exception):
    """What a child raised: the error itself, if it can be pickled, and its traceback as text."""

    def __init__(self, message: str, traceback_text: str, error: Exception | None = None) -> None:
        super().__init__(message, traceback_text, error)
        self.message = message
        self.traceback = traceback_text
        self.error = error

    def __str__(self) -> str:
        return f"in another process:\n{self.traceback}"


class Child:
    """A fork of this process that does `work(connection, *args)`, and then ends."""

    def __init__(self, work: Work, *args: Any) -> None:
        self._exit_code: int | None = None
        from multiprocessing import Pipe

        self.connection, theirs = Pipe()
        self.pid = fork()
        if self.pid == 0:
            self.connection.close()
            _live(theirs, work, args)
        theirs.close()

    def send(self, message: Any) -> None:
        """Send something to the child; that it has died is for `receive` to say."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def receive(self, seconds: float | None = None) -> Any:
        """What the child sends next. Raises ProcessRaised, ProcessDied, or TimeoutError."""
        try:
            if not self.connection.poll(seconds):
                raise TimeoutError(f"nothing was heard for {seconds:g} seconds")
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise ProcessDied(self.wait()) from None
        if isinstance(message, ProcessRaised):
            raise message
        return message

    def wait(self) -> int:
        """Wait until the child has ended; its exit code, negative for a signal."""
        if self._exit_code is None:
            self._exit_code = wait_for_exit(self.pid)
        return self._exit_code

    def kill(self) -> None:
        """End the child at once."""
        if self._exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.connection.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _live(connection: Connection, work: Work, args: tuple[Any, ...]) -> NoReturn:
    """The life of a child. It leaves without cleaning up what belongs to its parent."""
    exit_code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever made the child ends it
        work(connection, *args)
        exit_code = 0
    except SystemExit as end:
        exit_code = end.code if isinstance(end.code, int) else bool(end.code)
    except Exception as error:  # raised again by the parent
        connection.send(describe_raised(error))
    finally:
        flush_streams()
        os._exit(exit_code)


def describe_raised(error: Exception) -> ProcessRaised:
    """An error as another process can be told of it."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        # Some of TensorFlow's errors can be pickled, and cannot be unpickled.
        travels: Exception | None = pickle.loads(pickle.dumps(error))
    except (TypeError, AttributeError, pickle.PicklingError):
        travels = None
    return ProcessRaised(str(error) or type(error).__name__, text, travels)


class ForkServer:
    """Runs `work(connection, name, *args)` in a new fork of this process as it is now."""

    def __init__(self, work: Work) -> None:
        self._child = Child(_fork_on_request, work)

    def start(self, name: str, *args: Any) -> None:
        """Fork a child; the name tells it from others."""
        self._child.send((name, args))

    def wait(self) -> tuple[str, ProcessDied | ProcessRaised | None]:
        """Wait until one of the children ends: its name, and why if it did not end well.

        Raises ProcessDied if it is the server itself that ends.
        """
        name, reason = self._child.receive()
        return name, reason

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()  # and its children end with it


def _fork_on_request(connection: Connection, work: Work) -> None:
    from multiprocessing.connection import wait

    running: dict[Any, tuple[str, Child]] = {}
    while True:
        for ready in wait([connection, *running]):
            if ready is connection:
                name, args = connection.recv()
                child = Child(work, name, *args)
                running[child.connection] = name, child
            else:
                name, child = running.pop(ready)
                connection.send((name, _reason_of_end(child)))


def _reason_of_end(child: Child) -> ProcessDied | ProcessRaised | None:
    with child:
        try:
            child.receive()
        except ProcessDied as death:
            return death if death.exit_code else None
        except ProcessRaised as raised:
            return raised
    return None


class _State:
    wanted = False
    num_deferring = 0
    saved_step: int | None = None
    is_forking = False


_held = threading.local()
"""The signals that a thread held back before it forked, as `mask`."""


def is_stop_wanted() -> bool:
    """Whether this process was asked to stop."""
    return _State.wanted


def note_saved_step(step: int) -> None:
    """Note how far a training is that was saved because this process is to stop."""
    _State.saved_step = step


def get_saved_step() -> int | None:
    """The step that a training was saved at when this process was asked to stop, if it was."""
    return _State.saved_step


@contextlib.contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt, unless the program has a handler of its own."""
    _State.wanted, _State.saved_step = False, None
    if not _is_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    _leave_forks_alone()
    signal.signal(signal.SIGTERM, _on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def defer_stop() -> Iterator[None]:
    """Inside, a signal only makes `is_stop_wanted` true: whoever is inside ends by itself.

    Python hears signals in its main thread alone; in others this changes nothing. A second Ctrl-C
    does not wait.
    """
    if not _is_main_thread():
        yield
        return
    _leave_forks_alone()
    # A handler that is not Python's cannot be put back.
    wanted = [number for number in _USUAL if signal.getsignal(number) is not None]
    handlers = {number: signal.signal(number, _on_signal) for number in wanted}
    _State.num_deferring += 1
    try:
        yield
    finally:
        _State.num_deferring -= 1
        for number, handler in handlers.items():
            if signal.getsignal(number) is _on_signal:  # the module may want its own from now on
                signal.signal(number, handler)


@functools.lru_cache(None)
def _leave_forks_alone() -> None:
    """Let processes that user code forks hear signals as usual.

    `multiprocessing.Pool` ends its processes by SIGTERM. One that is about to wait for a lock would
    note the signal, and then wait for ever. Python itself drops what a fork hears before it is
    ready: until then, signals are held.
    """
    os.register_at_fork(
        before=_hold_signals, after_in_parent=_release_signals, after_in_child=_forget_handlers
    )


def _hold_signals() -> None:
    _State.is_forking = True
    _held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _USUAL)


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _held.mask)
    _State.is_forking = False


def _forget_handlers() -> None:
    for number, usual in _USUAL.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, usual)
    _release_signals()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _on_signal(number: int, _: FrameType | None) -> None:
    if _State.is_forking:  # what is raised around a fork reaches nobody: say it again
        threading.Timer(_AFTER_FORK_SECONDS, os.kill, (os.getpid(), number)).start()
        return
    again, _State.wanted = _State.wanted, True
    if again and number == signal.SIGTERM:
        return  # it is said until it is heard
    if again or not _State.num_deferring:
        raise KeyboardInterrupt
