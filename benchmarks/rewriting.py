# SPDX-License-Identifier: Apache-2.0
"""The penguin, the taxi and a digits model in every format: sizes, differences, latencies.

python benchmarks/rewriting.py

TFJS needs the package index on its first start, for its converter, and Node, to be run.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "models" / "rewriting"))

PIPELINES = {"penguin": [], "taxi": ["--steps=300"]}


def main() -> None:
    print("model    format          size B  of the original  difference  allowed   ms  original ms")
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in PIPELINES.items():
            report(name, *train(name, os.path.join(folder, name), flags))
        from rewritten_models import train_digits  # type: ignore[import-not-found]

        report("digits", *train_digits(os.path.join(folder, "digits")))


def train(name: str, root: str, flags: list[str]) -> tuple[str, str]:
    """Run an example's pipeline; the folders of its SavedModel and of its raw eval examples."""
    pipeline = str(REPOSITORY / "examples" / name / "pipeline.py")
    command = [sys.executable, pipeline, f"--root={root}", *flags]
    subprocess.run(command, check=True, capture_output=True)
    (model,) = Path(root, "Trainer", "model").iterdir()
    (examples,) = Path(root, "CsvExampleGen", "examples").iterdir()
    return str(model / "Format-Serving"), str(examples / "Split-eval")


def report(name: str, saved_model: str, examples: str) -> None:
    """Rewrite a model to every format, and print what was found out."""
    from stoker.models.rewriting.targets import TARGETS, rewrite

    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            out = os.path.join(folder, target)
            found = rewrite(saved_model, target, out, examples=[examples])
            share = found.rewritten_bytes / found.original_bytes
            difference = found.largest_difference
            print(
                f"{name:8} {target:14} {found.rewritten_bytes:7,}  {share:15.1%}  "
                f"{'not run' if difference is None else format(difference, '10.1e')}  "
                f"{found.tolerance:7g}  {found.rewritten_ms or 0:3.2f}  {found.original_ms:3.2f}"
                f"   {found.compared_on}",
                flush=True,
            )


if __name__ == "__main__":
    main()
