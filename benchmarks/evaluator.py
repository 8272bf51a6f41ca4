# SPDX-License-Identifier: Apache-2.0
"""Evaluating 1,000,000 examples: the memory, and the time beside TFMA's in the same run.

python benchmarks/evaluator.py    (TFMA is in tests/evaluation/tfma_overlay.py's environment)

Each line is a process of its own. TFMA gets fewer examples, and the ratio is of the CPU seconds for
one more example: what a process costs before its first is taken off by a run with few.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FEW, MANY, ALL = 2_000, 20_000, 1_000_000
CONFIG = {
    "model_specs": [{"label_key": "label", "example_weight_key": "weight"}],
    "slicing_specs": [{}, {"feature_keys": ["color"]}, {"feature_keys": ["color", "size"]}],
    "metrics_specs": [
        {
            "metrics": [
                {"class_name": name}
                for name in (
                    *("ExampleCount", "BinaryAccuracy", "AUC", "Precision", "Recall"),
                    *("BinaryCrossentropy", "Calibration", "MeanSquaredError"),
                )
            ]
        }
    ],
}


def main() -> None:
    sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "evaluation")]
    import tfma_overlay  # type: ignore[import-not-found]
    from components.evaluated_models import (  # type: ignore[import-not-found]
        labelled_examples,
        save_classifier,
    )

    from stoker.data.column_file import ColumnWriter
    from stoker.data.decode import decode
    from stoker.data.tfrecord import read_records, write_records

    with tempfile.TemporaryDirectory() as folder:
        save_classifier(Path(folder, "model"))
        distinct = list(labelled_examples(10_000))
        for num in (FEW, MANY, 100_000, ALL):
            records = (distinct[index % len(distinct)] for index in range(num))
            write_records(shard(folder, num), records)
        ours = {num: report("stoker", sys.executable, folder, num) for num in (FEW, 100_000, ALL)}
        with ColumnWriter(shard(folder, ALL)) as writer:
            for batch in decode(read_records(shard(folder, ALL))):
                writer.write(batch)
        print("with Arrow columns beside the examples:")
        report("stoker", sys.executable, folder, ALL)
        theirs = {num: report("tfma", tfma_overlay.python(), folder, num) for num in (FEW, MANY)}
    per_example = (ours[ALL] - ours[FEW]) / (ALL - FEW), (theirs[MANY] - theirs[FEW]) / (MANY - FEW)
    print(f"One more example costs TFMA {per_example[1] / per_example[0]:.0f} times as much.")


def shard(folder: str, num: int) -> str:
    return f"{folder}/Split-{num}/data.gz"


def report(engine: str, python: str, folder: str, num: int) -> float:
    """Evaluate so many examples in a process of its own; the CPU seconds that it took."""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [python, __file__, engine, folder, str(num)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    cpu, wall, peak = json.loads(done.stdout.splitlines()[-1])
    print(f"{engine:7} {num:9,} examples  {cpu:7.1f} CPU s  {wall:7.1f} s  {peak:6,.0f} MB at most")
    return float(cpu)


def evaluate(engine: str, folder: str, num: int) -> None:
    """What the child process does."""
    import resource
    import time

    from stoker.evaluation.config import as_eval_config, with_defaults
    from stoker.evaluation.engine import make_plan, measure
    from stoker.evaluation.with_tfma import evaluate_with_tfma
    from stoker.models.scoring import score_batches

    start = time.monotonic()
    config = with_defaults(as_eval_config(CONFIG), has_baseline=False)
    models, files = {"": f"{folder}/model"}, [shard(folder, num)]
    if engine == "tfma":
        evaluate_with_tfma(config, models, files, f"{folder}/out-{num}", rubber_stamp=False)
    else:
        measure(make_plan(config), score_batches(config, models, files))
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime
    print(json.dumps([seconds, time.monotonic() - start, used.ru_maxrss / 1024]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        evaluate(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
