# SPDX-License-Identifier: Apache-2.0
"""How long a program waits for a tf.data iterator to end, without and with `end_aside`.

    python benchmarks/end_of_input.py [NUM_TIMES SECONDS]

Each iterator is read for SECONDS and dropped. Both ways take turns.
"""

import statistics
import sys
import time

import tensorflow as tf

from stoker.training.input_end import end_aside


def main(num_times: int = 20, seconds: float = 0.75) -> None:
    dataset = tf.data.Dataset.from_tensors(tf.zeros([4])).repeat().map(lambda x: x + 1).prefetch(2)
    waits: dict[str, list[float]] = {"alone": [], "aside": []}
    for _ in range(num_times):
        for way, own in waits.items():
            iterator = iter(dataset)
            if way == "aside":
                end_aside(iterator)
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                next(iterator)
            start = time.perf_counter()
            del iterator
            own.append(time.perf_counter() - start)
    for way, own in waits.items():
        late = sum(wait > seconds / 10 for wait in own)
        print(
            f"{way}: {late} of {num_times} were waited for; on average "
            f"{statistics.mean(own) / seconds:.1%} of the time for which they were read, "
            f"at most {max(own):.3f} s"
        )


if __name__ == "__main__":
    main(*(int(sys.argv[1]), float(sys.argv[2])) if sys.argv[2:] else ())
