# SPDX-License-Identifier: Apache-2.0
"""What callbacks remember, as JSON and arrays."""

import datetime
import enum
import json
import math
import random
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from stoker.training.resume.callback_state import read_callbacks, read_texts, set_callbacks
from stoker.training.resume.plain_values import NotPlain, as_plain, from_plain


def there_and_back(value):
    arrays = {}
    plain = json.loads(json.dumps(as_plain(value, arrays)))
    return from_plain(plain, arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        -math.inf,
        "text",
        [1, [2.5, None]],
        (1, ("a",)),
        {"loss": [0.1, 0.2], 3: {"a": ()}},
        {"array": "not one"},
        {"list": [1]},
        [],
        {1, "a"},
        frozenset({2}),
        deque([1, 2], maxlen=2),
        deque(),
        {(1, 2): {3}},
        OrderedDict(b=1, a=2),
        Counter("aab"),
        defaultdict(list, {"a": [1]}),
        b"\x00\xff",
        bytearray(b"ab"),
        1 + 2j,
        range(1, 9, 2),
        slice(None, 3),
        Decimal("0.10"),
        Fraction(1, 3),
        datetime.timedelta(days=-1, microseconds=3),
        datetime.date(2026, 11, 16),
        datetime.datetime(2026, 11, 16, 17, 5, tzinfo=datetime.UTC),
        2**100,
    ],
)
def test_plain_values_come_back_as_they_were(value):
    assert there_and_back(value) == value
    assert type(there_and_back(value)) is type(value)


def test_arrays_and_numpy_numbers_keep_their_types():
    weights = there_and_back([np.ones((2, 3), np.float16), np.float32(0.1), np.int64(7)])
    assert [one.dtype for one in weights] == [np.float16, np.float32, np.int64]
    assert isinstance(weights[1], np.float32)
    assert weights[0].shape == (2, 3)


def test_a_defaultdict_still_makes_what_is_missing():
    assert there_and_back(defaultdict(list))["new"] == []


Pair = namedtuple("Pair", "a b")


class Colour(enum.IntEnum):
    RED = 1


class Names(dict):
    """A dict of the user's own."""


ITSELF = [1]
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    "value",
    [
        *(len, object(), [print], {"f": open}, np.array([None]), iter([1])),
        *(Pair(1, 2), Colour.RED, Names(a=1), ITSELF, defaultdict(lambda: 3)),
        np.ma.masked_array([1, 2], mask=[True, False]),
        datetime.datetime(2026, 11, 16, tzinfo=zoneinfo.ZoneInfo("UTC")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_come_back_as_something_else_is_not_plain(value):
    with pytest.raises(NotPlain):
        as_plain(value, {})


class Callback:
    """As Keras's own: it has a model, and hooks."""

    def __init__(self):
        self.model = object()
        self.params = {"epochs": 3}

    def set_model(self, model):
        self.model = model

    def on_train_batch_end(self, batch, logs=None):
        pass


class Patient(Callback):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.best = math.inf
        self.wait = 0
        self.best_weights = None
        self.better = min
        self.mixed = [np.zeros(2), len]


class Late(Callback):
    """As a callback of Keras 3: it chooses late, and turns a sign then."""

    def __init__(self):
        super().__init__()
        self.min_delta = 0.5
        self.monitor_op = None

    def _set_monitor_op(self):
        self.monitor_op = min
        self.min_delta *= -1


def carry_over(before, after, old_texts=None):
    """What was lost in giving one callback the state of another, as another process would."""
    arrays = {}
    states, lost = read_callbacks([before], arrays, old_texts or {})
    return [*lost, *set_callbacks([after], json.loads(json.dumps(states)), arrays)]


def test_what_a_callback_remembers_is_kept_and_where_it_writes_is_not():
    before, after = Patient("/then"), Patient("/now")
    texts = read_texts([before])
    before.best, before.wait, before.best_weights = 0.25, 2, [np.arange(3)]
    before.mixed[0][:] = 7

    assert carry_over(before, after, texts) == []

    assert (after.best, after.wait, after.folder) == (0.25, 2, "/now")
    assert after.best_weights[0].tolist() == [0, 1, 2]
    assert after.better is min
    assert after.mixed[0].tolist() == [7, 7]


@pytest.mark.parametrize("has_chosen", [False, True])
def test_a_sign_is_not_turned_twice(has_chosen):
    before, after = Late(), Late()
    if has_chosen:
        before._set_monitor_op()
    carry_over(before, after)
    assert (after.min_delta, after.monitor_op) == (before.min_delta, before.monitor_op)


@dataclass
class Best:
    loss: float = math.inf
    at: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Phase:
    name: str = "warm"
    number: int = 0


class Everything(Callback):
    def __init__(self):
        super().__init__()
        self.recent = deque(maxlen=3)
        self.seen = set()
        self.best = Best()
        self.phase = Phase()
        self.per_metric = {"loss": Best(), "accuracy": Best()}
        self.numpy = np.random.default_rng(1)
        self.python = random.Random(1)
        self.of_the_system = random.SystemRandom()
        self.legacy = np.random.RandomState(1)
        self.colour = Colour.RED
        self.text = "begun"
        self.inner = Patient("/x")
        self.itself = self
        self.view = self.recent

    def train(self):
        self.recent.extend([1, 2, 3, 4])
        self.seen |= {1, 2}
        self.best.loss = 0.5
        self.best.at.append(3)
        self.phase = Phase("cool", 2)
        self.per_metric["accuracy"].loss = 0.25
        self.text = "half done"
        self.inner.wait = 4
        for generator in (self.numpy, self.python, self.legacy):
            generator.random() if generator is not self.legacy else generator.rand()


def test_containers_objects_and_generators_of_a_callback_are_restored_in_place():
    before, after = Everything(), Everything()
    texts = read_texts([before])
    before.train()

    assert carry_over(before, after, texts) == []

    assert after.recent == before.recent == deque([2, 3, 4], maxlen=3)
    assert after.view is after.recent
    assert (after.seen, after.text, after.inner.wait) == ({1, 2}, "half done", 4)
    assert (after.best, after.phase, after.per_metric) == (
        before.best,
        before.phase,
        before.per_metric,
    )
    assert after.numpy.random() == before.numpy.random()
    assert after.python.random() == before.python.random()
    assert after.legacy.rand() == before.legacy.rand()
    assert Phase() == Phase("warm", 0)


class Lossy(Callback):
    def __init__(self):
        super().__init__()
        self.numbers = (number for number in range(9))
        self.rows = []
        self.late = None
        self.path = "/folder/0"
        self.names = Names(a=1)
        self.chain = Link()


class Link:
    """One of many, each of which knows the next."""

    def __init__(self):
        self.next = None


def test_what_cannot_be_restored_is_named():
    before, after = Lossy(), Lossy()
    texts = read_texts([before])
    before.rows.append(Best())
    before.late = Best()
    before.path = "/folder/1"
    last = before.chain
    for _ in range(5000):
        last.next = Link()
        last = last.next

    lost = carry_over(before, after, texts)

    assert sorted(one for one in lost if "chain" not in one) == [
        "Lossy.late",
        "Lossy.names (Names)",
        "Lossy.numbers (generator)",
        "Lossy.path (text)",
        "Lossy.rows",
    ]
    assert any("chain" in one for one in lost)


class OnEpochEnd(Callback):
    """As Keras's LambdaCallback: what it does is a function."""

    def __init__(self, function):
        super().__init__()
        self.on_epoch_end = function


def make_counter():
    count, losses, best = 0, [], Best()

    def on_epoch_end():
        nonlocal count
        count += 1
        losses.append(count / 2)
        best.loss = count
        return count, losses, best

    return on_epoch_end


def test_what_a_function_has_from_around_it_is_restored():
    before, after = OnEpochEnd(make_counter()), OnEpochEnd(make_counter())
    before.on_epoch_end()
    before.on_epoch_end()

    assert carry_over(before, after) == []

    assert after.on_epoch_end() == before.on_epoch_end() == (3, [0.5, 1.0, 1.5], Best(3))


class Log:
    def __init__(self):
        self.lines = []

    def add(self):
        self.lines.append(len(self.lines))


def test_the_object_of_a_method_is_restored():
    before, after = OnEpochEnd(Log().add), OnEpochEnd(Log().add)
    before.on_epoch_end()

    assert carry_over(before, after) == []

    assert after.on_epoch_end.__self__.lines == [0]
