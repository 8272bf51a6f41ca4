# SPDX-License-Identifier: Apache-2.0
"""How long Stoker takes before the user's code runs, and how long the whole demo takes.

python benchmarks/startup.py

TFX's figures are TFX 1.16's on a machine of the same size (2 cores); they are printed beside ours
for comparison, and not measured here.
"""

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.runner import LocalDagRunner
from stoker.runner.steps import Steps

REPOSITORY = Path(__file__).resolve().parent.parent

MODULE = """
import time
first_line = time.time()
import tensorflow as tf

def run_fn(fn_args):
    called = time.time()
    import json, os
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "times.json"), "w") as file:
        json.dump({"called": called, "imports": called - first_line}, file)
    tf.keras.backend.clear_session()
"""


def main() -> None:
    imports()
    start_of_run_fn()
    demo()


def imports() -> None:
    print("import                                   CPU s   heavy modules loaded")
    for statement in (
        "import stoker",
        "from tfx import v1",
        "from tfx.components.trainer.executor import GenericExecutor",
    ):
        code = (
            f"import time; start = time.process_time(); {statement}; import sys;"
            "print(time.process_time() - start, [name for name in "
            "('tensorflow', 'apache_beam', 'ray', 'pyarrow', 'sqlalchemy') if name in sys.modules])"
        )
        command = [sys.executable, "-c", code]
        seconds, _, heavy = min(
            subprocess.check_output(command, text=True).strip().partition(" ") for _ in range(3)
        )
        print(f"{statement[:40]:40} {float(seconds):.2f}    {heavy}")


def start_of_run_fn() -> None:
    """From the runner reaching a Trainer to the first line of its `run_fn`."""
    reached: dict[str, float] = {}
    work_on = Steps.work_on

    def timed(steps: Any, node: Any) -> Any:
        reached[node.id] = time.time()
        return work_on(steps, node)

    setattr(Steps, "work_on", timed)  # noqa: B010
    with tempfile.TemporaryDirectory() as folder:
        module_file = Path(folder, "module.py")
        module_file.write_text(MODULE)
        data = Examples()
        data.uri, data.splits = folder, ["train", "eval"]
        steps = [
            Trainer(examples=as_channel([data]), module_file=str(module_file)).with_id(
                f"Trainer{i}"
            )
            for i in range(6)
        ]
        for before, after in itertools.pairwise(steps):
            after.add_upstream_node(before)
        run = LocalDagRunner().run(Pipeline("startup", folder, components=steps))
        waits = []
        for node, outputs in run.outputs.items():
            file = Path(outputs["model"][0].uri, "Format-Serving", "times.json")
            times = json.loads(file.read_text())
            waits.append(times["called"] - reached[node] - times["imports"])
    setattr(Steps, "work_on", work_on)  # noqa: B010
    first, *later = waits
    print("\nfrom the runner reaching the Trainer to the first line of run_fn (TFX 1.16: 0.90 s)")
    print(
        f"  with the fork server up, best and worst of five   {min(later):.3f} {max(later):.3f} s"
    )
    print(f"  cold, TensorFlow's own import included   {first:.2f} s")


def demo() -> None:
    """The whole penguin pipeline, as `make demo` runs it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "examples/penguin/pipeline.py", f"--root={folder}"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True, env=os.environ)
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\nthe penguin pipeline, process start to end: {wall:.1f} s wall, {cpu:.1f} CPU s")
    print(
        f"  TFX 1.16 takes 28 to 36 s, Transform included: {28 / wall:.1f} to {36 / wall:.1f} times"
    )


if __name__ == "__main__":
    main()
