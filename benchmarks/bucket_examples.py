# SPDX-License-Identifier: Apache-2.0
"""The examples with everything in a bucket: data, modules, root and served models.

python benchmarks/bucket_examples.py fill URL
python benchmarks/bucket_examples.py penguin|taxi_blessed URL STORE

The URL may be the path of a folder, to compare with.
"""

import argparse
import importlib
import importlib.util
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tfx.dsl.io import fileio

tfx: Any = importlib.import_module("tfx.v1")  # as users' files see it, without types
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TRAIN_STEPS = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("example", choices=["fill", "penguin", "taxi_blessed"])
    parser.add_argument("url")
    parser.add_argument("store", nargs="?")
    arguments = parser.parse_args()
    if arguments.example == "fill":
        fill(arguments.url)
        return
    began = time.perf_counter()
    pipeline = make(arguments.example, arguments.url, arguments.store)
    tfx.orchestration.LocalDagRunner().run(pipeline)
    took, cpu = time.perf_counter() - began, time.process_time()
    print(f"took {took:.2f} s, and {cpu:.2f} CPU s with all imports", flush=True)


def fill(url: str) -> None:
    """Put what the examples read where they will look for it."""
    names = ["penguin/module.py", "penguin/data/penguins.csv", "taxi_blessed/module.py"]
    for name in names:
        put(EXAMPLES / name, f"{url}/{name}")
    for name in ("features.py", "preprocessing.py"):
        put(EXAMPLES / "taxi" / name, f"{url}/taxi_blessed/{name}")
    make_data = load(EXAMPLES / "taxi" / "make_data.py")
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, more in (
            ("labelled", 6_000, {}),
            ("unlabelled", 300, {"seed": 2, "tips": False}),
        ):
            path = Path(folder, name, "trips.csv")
            make_data.write_trips(str(path), rows, **more)
            put(path, f"{url}/taxi_blessed/data/{name}/trips.csv")


def put(path: Path, url: str) -> None:
    if "://" not in url:
        os.makedirs(os.path.dirname(url), exist_ok=True)
    fileio.copy(str(path), url, overwrite=True)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(example: str, url: str, store: str) -> Any:
    """The example's pipeline as it is in its file, with other places."""
    module = load(EXAMPLES / example / "pipeline.py")
    config = tfx.orchestration.metadata.sqlite_metadata_connection_config(store)
    place = f"{url}/{example}"
    if example == "penguin":
        module.HERE = place
        made = module.create_pipeline(f"{place}/root", TRAIN_STEPS)
        return tfx.dsl.Pipeline(
            pipeline_name=made.pipeline_name,
            pipeline_root=made.pipeline_root,
            components=[
                *made.components,
                tfx.components.Pusher(
                    model=made.components[-1].outputs["model"],
                    push_destination=tfx.proto.PushDestination(
                        filesystem=tfx.proto.PushDestination.Filesystem(
                            base_directory=f"{place}/served"
                        )
                    ),
                ),
            ],
            enable_cache=True,
            metadata_connection_config=config,
        )
    return module._create_pipeline(
        pipeline_name="taxi_blessed",
        pipeline_root=f"{place}/root",
        data_root=f"{place}/data",
        module_file=f"{place}/module.py",
        preprocessing_file=f"{place}/preprocessing.py",
        serving_model_dir=f"{place}/served",
        metadata_path=store,
        trials=2,
        train_steps=TRAIN_STEPS,
        overrules={},
        beam_pipeline_args=["--direct_num_workers=0"],
    )


if __name__ == "__main__":
    main()
