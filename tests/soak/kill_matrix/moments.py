# SPDX-License-Identifier: Apache-2.0
"""When to kill: a moment that is drawn before the run, and waited for by looking at the disk."""

import glob
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.003
_JUST_AFTER_SECONDS = 0.05

_SIGNS: Mapping[str, str] = {
    "begins": "{step}/*/*",
    "writes": "{step}/*/*/*",
    "has a manifest": ".stoker/manifests/{step}/*/*.json",
    "saves": ".stoker/checkpoints/{step}/*/*/*",
    "copies": ".stoker/tmp/*/{step}/*/.pushing",
    "adds a version": "served/[0-9]*",
}
"""What can be seen of a step from outside: by name, the paths that are new then."""
_MANY: Mapping[str, int] = {"Trainer": 12, "Tuner": 3}
"""The steps that save how far they are, and how often they do at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """So many seconds after the `nth` sign of a step; without a step, after the run's start."""

    step: str = ""
    sign: str = "starts"
    nth: int = 1
    seconds: float

    def __str__(self) -> str:
        times = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.seconds:.2f} s after {self.step or 'the run'} {self.sign}{times}"


def draw_moment(
    chance: random.Random, open_steps: Sequence[str], durations: Mapping[str, float]
) -> Moment:
    """Any time in one of the next steps, or just after one of its signs.

    `durations` are those of an uninterrupted run, with that of its start under "".
    """
    if not open_steps or chance.random() < 0.1:
        return Moment(seconds=chance.uniform(0, durations[""]))
    step = chance.choice(open_steps[:3])  # those far away would take all runs between at once
    if chance.random() < 0.5:
        return Moment(step=step, sign="begins", seconds=chance.uniform(0, 1.1 * durations[step]))
    sign = chance.choice(_list_signs(step))
    nth = chance.randint(1, _MANY[step]) if sign == "saves" else 1
    return Moment(step=step, sign=sign, nth=nth, seconds=chance.uniform(0, _JUST_AFTER_SECONDS))


def _list_signs(step: str) -> list[str]:
    signs = ["begins", "writes", "has a manifest"]
    if step in _MANY:
        signs += ["saves"] * 3
    if step == "Pusher":
        signs += ["copies", "adds a version"]
    return signs


def watch_for(root: Path, moment: Moment) -> Callable[[Callable[[], bool]], bool]:
    """Remember what is there before a run starts; gives what waits for the moment.

    That returns False if `has_ended` says so before the moment has come.
    """
    pattern = _SIGNS[moment.sign].format(step=moment.step) if moment.step else ""
    seen = _find(root, pattern) if pattern else set()

    def wait(has_ended: Callable[[], bool]) -> bool:
        nonlocal seen
        num_new = 0
        while pattern and num_new < moment.nth:
            if has_ended():
                return False
            there = _find(root, pattern)
            num_new += len(there - seen)  # old checkpoints go when new ones come
            seen |= there
            time.sleep(_POLL_SECONDS)
        return _sleep(moment.seconds, has_ended)

    return wait


def _find(root: Path, pattern: str) -> set[str]:
    """What there is; unlike Path.glob, it does not mind that folders go while it looks."""
    return set(glob.glob(pattern, root_dir=root, include_hidden=True))


def _sleep(seconds: float, has_ended: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if has_ended():
            return False
        time.sleep(min(left, 0.02))
    return not has_ended()
