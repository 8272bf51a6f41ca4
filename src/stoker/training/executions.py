# SPDX-License-Identifier: Apache-2.0
"""Several steps per call into TensorFlow, though Keras asks for them one by one.

For a small model, the way from Python into a graph costs more than the step that is done there. So
a function of ours stands in the place of the model's own: asked for a step, it does several, in a
loop inside of the graph, and keeps what each of them told. The next times that it is asked it only
hands that out.

    Keras asks for step      1  2  3  4  5  6  7  8  9
    TensorFlow is called     1  2     4           8

Keras's loop, its counts, History and the end of the data are what they were, and every step does
the same operations in the same order: the results are bit-equal. Whoever wants to look at the model
between two steps waits until nothing is kept.
"""

import functools
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from stoker.patches.fit import build_at_once
from stoker.training.resume.train_function import find_own_state

_LOOP, _STANDS_IN = "_stoker_loop", "_stoker_stands_in"
"""What is attached to functions."""
_MOST_SECONDS = 0.05
"""What an execution may take: a stop, a checkpoint and a report wait for its end."""
_MOST_STEPS = 64
"""A curve has a point for each execution."""


class Pace:
    """How many steps to do at once: twice as many each time, while all of them take little time."""

    def __init__(self, fixed: int | None = None) -> None:
        self.num_steps = fixed or 1
        self._is_fixed = fixed is not None

    def note(self, num_steps: int, seconds: float) -> None:
        """Note that some steps were done, and how long they took."""
        if num_steps == self.num_steps and not self._is_fixed:
            most = int(_MOST_SECONDS * num_steps / seconds) if seconds else _MOST_STEPS
            self.num_steps = max(1, min(2 * num_steps, most, _MOST_STEPS))


class Executions:
    """Stands in for the train function, or the test function, of one model."""

    def __init__(
        self, model: Any, name: str, *, fixed: int | None = None, why_single: str = ""
    ) -> None:
        self.kept: deque[Any] = deque()
        """What steps told that are done, and that Keras has not asked for."""
        self.pace = Pace(fixed)
        self.why_single = why_single
        """Why steps are done one by one, if they are."""
        self._model = model
        self._name = name
        self._original: Any = None
        self._num_left: int | None = None
        self._may_end = True
        self._only_one = False

    def begin(self) -> None:
        """Stand in for the model's function, which Keras has made."""
        original = getattr(self._model, self._name)
        if getattr(original, _STANDS_IN, False):
            self.why_single = "it is trained inside of another fit"
        if original is None or self.why_single or self._original is not None:
            return
        self._original = original
        kept = self.kept

        # A plain function, so that whoever looks for graphs behind it finds them.
        def do_next_step(iterator: Any) -> Any:
            if not kept and not self.why_single:
                self._do_several(_loop_of(original, may_end=self._may_end), iterator)
            return kept.popleft() if kept else original(iterator)

        setattr(do_next_step, _STANDS_IN, True)
        setattr(self._model, self._name, do_next_step)

    def end(self) -> None:
        """Give the model its own function back."""
        if self._original is not None:
            setattr(self._model, self._name, self._original)
            self._original = None

    def begin_epoch(self, num_steps: int | None, *, may_end: bool = True) -> None:
        """So many steps come before somebody looks at the model; None: as many as the data has.

        `may_end` says that the data may have fewer.
        """
        self.kept.clear()
        self._num_left = num_steps
        self._may_end = may_end or num_steps is None

    def do_only_one(self) -> None:
        """Somebody wants to look at the model before the next step and after it."""
        self._only_one = True

    def _do_several(self, loop: "_Loop", iterator: Any) -> None:
        """Do as many steps as is right now; at the end of the data there is none."""
        is_first = not loop.is_ready
        if is_first and not self._prepare(loop, iterator):
            self.why_single = loop.why_not
            return
        wanted = 1 if self._only_one else self._most()
        began = time.perf_counter()
        told = loop.run(iterator, wanted)
        if told and not is_first:
            self.pace.note(len(told), time.perf_counter() - began)
        self._only_one = False
        self.kept.extend(told)
        if self._num_left is not None:
            self._num_left -= len(told)

    def _prepare(self, loop: "_Loop", iterator: Any) -> bool:
        with build_at_once(self._model.optimizer):
            return loop.prepare(iterator)

    def _most(self) -> int:
        num_steps = self.pace.num_steps
        return num_steps if self._num_left is None else max(1, min(num_steps, self._num_left))


class _Batch:
    """An iterator over one batch, as a train function takes it."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __iter__(self) -> "_Batch":
        return self

    def __next__(self) -> Any:
        return self._batch


class _OneByOne(Exception):
    """Steps cannot be done together, for this reason."""


class _Loop:
    """A graph that does any number of steps, and tells the numbers that each of them returned."""

    def __init__(self, step: Callable[[Any], Any], *, may_end: bool) -> None:
        import tensorflow as tf

        run_steps = functools.partial(self._run_steps, may_end=may_end)
        self._step = step
        self._names: list[str] = []
        self._kinds: list[type[float | int]] = []
        self._numbers: dict[int, Any] = {}
        self._function = tf.function(run_steps, autograph=False, reduce_retracing=True)
        self.is_ready = False
        self.why_not = ""

    def prepare(self, iterator: Any) -> bool:
        """Make the graph, without a step; False if there is a reason not to use it."""
        if self.why_not:
            return False
        try:
            graph = self._function.get_concrete_function(iterator, self._number(0)).graph
            if found := find_own_state(graph):
                raise _OneByOne(f"its steps have {', '.join(found)}")
            self.is_ready = True
        except _OneByOne as reason:
            self.why_not = str(reason)
        except Exception as error:  # of the user's code as well: Keras meets it again, and raises
            self.why_not = f"its steps do not run in a loop ({type(error).__name__})"
        return self.is_ready

    def run(self, iterator: Any, num_steps: int) -> list[dict[str, float | int]]:
        """Do so many steps, or as many as there is data for; what each returned."""
        told = self._function(iterator, self._number(num_steps)).numpy()
        names = self._names
        columns = told.reshape(-1, len(names)).T.tolist()
        read = [
            column if kind is float else map(kind, column)
            for kind, column in zip(self._kinds, columns, strict=True)
        ]
        return [dict(zip(names, row, strict=True)) for row in zip(*read, strict=True)]

    def _number(self, number: int) -> Any:
        import tensorflow as tf

        if number not in self._numbers:
            self._numbers[number] = tf.constant(number)
        return self._numbers[number]

    def _run_steps(self, iterator: Any, num_steps: Any, *, may_end: bool) -> Any:
        import tensorflow as tf

        def do_step(step: Any, told: Any) -> Any:
            outputs = self._as_vector(self._step(_Batch(iterator.get_next())))
            return step + 1, tf.concat([told, outputs], 0)

        def do_step_if_any(step: Any, told: Any) -> Any:
            batch = iterator.get_next_as_optional()

            def do() -> Any:
                outputs = self._as_vector(self._step(_Batch(batch.get_value())))
                return step + 1, tf.concat([told, outputs], 0)

            return tf.cond(batch.has_value(), do, lambda: (num_steps, told))

        begin = (tf.constant(0), tf.zeros([0], tf.float64))
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        return tf.while_loop(
            lambda step, _: step < num_steps,
            do_step_if_any if may_end else do_step,
            begin,
            shape_invariants=shapes,
            parallel_iterations=1,
        )[1]

    def _as_vector(self, outputs: Any) -> Any:
        """What a step returned, in numbers that hold every value of the types that it may have."""
        import tensorflow as tf

        if not (isinstance(outputs, Mapping) and outputs):
            raise _OneByOne("its steps return something else than metrics")
        for name, value in outputs.items():
            exact = value.dtype.is_floating or value.dtype in (tf.int32, tf.int64)
            if not exact or value.shape.rank != 0:
                raise _OneByOne(f"its steps return {name}, which is not a single number")
        self._names = [str(name) for name in outputs]
        self._kinds = [float if value.dtype.is_floating else int for value in outputs.values()]
        return tf.stack([tf.cast(value, tf.float64) for value in outputs.values()])


def _loop_of(function: Any, *, may_end: bool) -> _Loop:
    """The loop over a function, which is kept with it: a second `fit` need not make it again."""
    name = f"{_LOOP}_to_the_end" if may_end else _LOOP
    loop: _Loop | None = getattr(function, name, None)
    if loop is None:
        loop = _Loop(function, may_end=may_end)
        setattr(function, name, loop)
    return loop
