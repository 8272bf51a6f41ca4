# SPDX-License-Identifier: Apache-2.0
"""How fast `stoker ui` is over a long past: 10,000 runs with 100,000 executions in one store.

For each page, the milliseconds until the server has answered, those of its processor, and those
until a browser has the page ready; the memory of the server after all of them.

python benchmarks/ui.py
"""

import contextlib
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import quote

from cached_run import repeat_first_run

from stoker.artifacts import ModelRun
from stoker.dsl import InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

NUM_RUNS, NUM_STEPS = 10_000, 10
CHROMIUM = "/usr/bin/chromium"
REPEATS = 5
LIMITS = {"runs": 300.0, "run": 500.0}
"""Milliseconds of the server."""


@component
def Trainer(model_run: OutputArtifact[ModelRun], rate: Parameter[float] = 0.1) -> None:  # noqa: ARG001
    lines = (
        f'{{"step": {step}, "split": "train", "series": "train", "metrics": {{"loss": {1 / step},'
        f' "accuracy": {1 - 1 / step}}}}}\n'
        for step in range(1, 101)
    )
    Path(model_run.uri, "metrics.jsonl").write_text("".join(lines))


@component
def Reader(model_run: InputArtifact[ModelRun], number: Parameter[int]) -> None:
    pass


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder))
        with serve(folder) as (link, process):
            measure(link, process, find_newest(store))


def make_store(folder: Path) -> Path:
    """One run of ten steps, recorded ten thousand times; each with a loss of its own."""
    trainer = Trainer()
    readers = [
        Reader(model_run=trainer.outputs["model_run"], number=number).with_id(f"Reader{number}")
        for number in range(1, NUM_STEPS)
    ]
    pipeline = Pipeline("long", str(folder / "root"), components=[trainer, *readers])
    LocalDagRunner(InProcess()).run(pipeline)
    path = folder / "root" / "metadata.db"
    repeat_first_run(path, NUM_RUNS * NUM_STEPS)
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.execute(
            "UPDATE ContextProperty SET double_value = (context_id * 7919 % 10007) / 10007.0 "
            "WHERE name LIKE 'metric.%'"
        )
        store.commit()
        for table in ("Context", "Execution", "Event"):
            (count,) = store.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            print(f"{table}: {count:,} rows", end="   ")
    print()
    return path


def find_newest(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as store:
        (name,) = store.execute(
            "SELECT name FROM Context WHERE id IN (SELECT context_id FROM ParentContext) "
            "ORDER BY create_time_since_epoch DESC"
        ).fetchone()
    return str(name)


@contextlib.contextmanager
def serve(folder: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "stoker", "ui", "--no-open", "--port", "0", "--root", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield found[0], process
        finally:
            process.terminate()


def measure(link: str, process: "subprocess.Popen[str]", run: str) -> None:
    base = f"{link.partition('/?')[0]}/s/0"
    pages = {
        "runs": "/runs",
        "runs, page 150": "/runs?page=150",
        "runs, loss < 0.01": "/runs?q=" + quote("loss < 0.01"),
        "runs, by accuracy": "/runs?sort=-accuracy",
        "runs, a parameter": "/runs?q=" + quote("Trainer.rate > 0.05"),
        "runs, by cached steps": "/runs?sort=-cached",
        "run": f"/run?id={quote(run)}",
        "artifact": "/artifact?id=1",
        "compare": f"/compare?run={quote(run)}&run={quote(run)}-0",
        "data": "/data",
    }
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({})
    )
    opener.open(link).read()
    ready = dict(measure_browser(link, {name: base + path for name, path in pages.items()}))
    print(f"{'page':24}{'server ms':>12}{'CPU ms':>12}{'ready ms':>12}")
    for name, path in pages.items():
        taken, before = [], read_cpu_ms(process.pid)
        for _ in range(REPEATS):
            start = time.perf_counter()
            opener.open(base + path).read()
            taken.append((time.perf_counter() - start) * 1000)
        middle = statistics.median(taken)
        late = "  too slow" if middle > LIMITS.get(name, 1e9) else ""
        cpu = (read_cpu_ms(process.pid) - before) / REPEATS
        shown = ready.get(name, float("nan"))
        print(f"{name:24}{middle:>12.0f}{cpu:>12.0f}{shown:>12.0f}{late}")
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    print(f"peak memory of the server: {int(peak[1]) / 1000:.0f} MB")


def read_cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def measure_browser(link: str, pages: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Milliseconds from the request until the page is loaded, with its style and its script."""
    if not os.path.exists(CHROMIUM):
        print(f"there is no {CHROMIUM}: no times of a browser")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(link)
        page.wait_for_url("**/runs")
        for name, address in pages.items():
            taken = []
            for _ in range(3):
                page.goto(address)
                page.wait_for_load_state("load")
                timing = "performance.getEntriesByType('navigation')[0].loadEventEnd"
                page.wait_for_function(f"{timing} > 0")
                taken.append(float(page.evaluate(timing)))
            yield name, statistics.median(taken)
        browser.close()


if __name__ == "__main__":
    main()
