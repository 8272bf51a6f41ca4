# SPDX-License-Identifier: Apache-2.0
"""What a bucket costs: requests and bytes of the examples, and how fast files are staged.

The server is moto's, on this machine: its speed is not a provider's, the numbers of requests are.

python benchmarks/bucket.py [staging|examples]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "storage"))

from bucket_server import (  # type: ignore[import-not-found]  # noqa: E402
    Proxy,
    Server,
    serve,
    variables_for,
)

EXAMPLES = REPOSITORY / "benchmarks" / "bucket_examples.py"
NUM_FILES, FILE_BYTES = 16, 64 << 20
HEADER = "everything in a bucket            seconds  CPU s   GET  LIST  HEAD   PUT  MB down  MB up"


def main() -> None:
    wanted = sys.argv[1:] or ["staging", "examples"]
    with serve() as server:
        os.environ.update(server.environ)
        if "staging" in wanted:
            measure_staging()
        if "examples" in wanted:
            measure_examples(server)


def measure_staging() -> None:
    import s3fs

    from stoker.storage.places import list_objects
    from stoker.storage.staging import StagingCache, Wanted, digest_objects

    files = s3fs.S3FileSystem(use_listings_cache=False)
    files.mkdir("staging")
    block = os.urandom(1 << 20)
    for number in range(NUM_FILES):
        data = b"".join([bytes([number, place]) + block[2:] for place in range(FILE_BYTES >> 20)])
        files.pipe_file(f"staging/data/{number:02}.bin", data)
    num_bytes = NUM_FILES * FILE_BYTES
    best = {"s3fs alone": 0.0, "staged": 0.0}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            files.get("staging/data", folder, recursive=True)
            best["s3fs alone"] = max(best["s3fs alone"], num_bytes / (time.perf_counter() - began))
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            objects = list_objects("s3://staging/data")
            cache = StagingCache(folder=folder)
            digest = digest_objects(objects, "s3://staging/data")
            cache.stage("s3://staging/data", list(map(Wanted.of, objects)), digest=digest)
            best["staged"] = max(best["staged"], num_bytes / (time.perf_counter() - began))
            cache.close()
    print(f"{num_bytes / 1e9:.2f} GB in {NUM_FILES} files, the fastest of 3:")
    for what, rate in best.items():
        print(f"  {what:12} {rate / 1e6:6.0f} MB/s")
    print(f"  staged, of what s3fs alone reaches: {best['staged'] / best['s3fs alone']:.0%}")


def measure_examples(server: Server) -> None:
    with Proxy(server.port) as proxy, tempfile.TemporaryDirectory() as folder:
        import s3fs

        s3fs.S3FileSystem().mkdir("examples")
        run(proxy, folder, "fill", "s3://examples")
        print(f"\n{HEADER}")
        for example, names in (
            ("penguin", ("first run", "second run")),
            ("taxi_blessed", ("first run", "with a baseline", "all cached")),
        ):
            for name in names:
                proxy.reset()
                took = run(proxy, folder, example, "s3://examples", f"{folder}/{example}.db")
                counts = proxy.requests
                kinds = "".join(f"{counts[kind]:6}" for kind in ("GET", "LIST", "HEAD", "PUT"))
                down, up = proxy.num_bytes_down / 1e6, proxy.num_bytes_up / 1e6
                seconds, cpu = took
                times = f"{seconds:8.2f}{cpu:7.2f}"
                print(f"{example + ', ' + name:33}{times}{kinds}{down:9.2f}{up:7.2f}")


def run(proxy: Proxy, folder: str, *words: str) -> tuple[float, float]:
    """Run an example; gives how long it took from its pipeline's declaration on, and its CPU."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES), *words],
        env=variables_for(proxy, f"{folder}/cache"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split() for line in done.stdout.splitlines() if line.startswith("took ")]
    return (float(told[0][1]), float(told[0][4])) if told else (0.0, 0.0)


if __name__ == "__main__":
    main()
