# SPDX-License-Identifier: Apache-2.0
"""Let the iterator of a `fit` end beside the program instead of holding it up.

To end an iterator, TensorFlow 2.21 wakes the thread that tunes it before it says that this is the
end. Now and then that thread sleeps on, for as long as the iterator has lived, up to a minute; and
where the last reference was Python's, all of Python's threads wait. Here TensorFlow has a reference
more, in a queue, and drops it in another thread when Python has dropped its own.
"""

import threading
import weakref
from typing import Any

_SOON_SECONDS = 0.1
"""For Python to drop what an iterator that is gone was made of."""


def end_aside(iterator: Any) -> None:
    """Let nobody wait for the end of an iterator of tf.data; others are left alone."""
    if not hasattr(iterator, "_iterator_resource"):  # that of a strategy has several, on devices
        return
    import tensorflow as tf

    with tf.device("CPU:0"):
        queue = tf.queue.FIFOQueue(1, [tf.resource], [()])
        queue.enqueue(iterator._iterator_resource)

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def drop() -> None:  # inside TensorFlow, where Python waits for nothing
        queue.dequeue()

    drop.get_concrete_function()
    end = threading.Timer(_SOON_SECONDS, drop)
    end.daemon = True
    weakref.finalize(iterator, end.start).atexit = False
