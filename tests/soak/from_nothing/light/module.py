# SPDX-License-Identifier: Apache-2.0
"""A training whose weights are all the numbers that it was given, read anew in every step.

It saves after every step and goes on from there: a training that went on with other numbers shows.
"""

import hashlib
import importlib
import json
import os
import sys
import tempfile
import time

import neighbour
import program_flags  # noqa: F401 - defines the flags that are read below
import toy
from absl import flags

MODULE = 0
HERE = os.path.dirname(os.path.abspath(__file__))
NUM_STEPS = 3


def run_fn(fn_args):
    saved = os.path.join(fn_args.checkpoint_dir, "steps.json")
    steps = []
    if os.path.exists(saved):
        with open(saved) as file:
            steps = json.load(file)
    while len(steps) < NUM_STEPS:
        time.sleep(0.03)
        steps.append(read_numbers(fn_args))
        write_json(f"{saved}.draft", steps)
        os.rename(f"{saved}.draft", saved)
    write_json(os.path.join(fn_args.serving_model_dir, "weights.json"), steps)


def read_numbers(fn_args):
    with open(os.path.join(HERE, "settings.json")) as file:
        settings = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:  # of no concern to anybody
        write_json(os.path.join(scratch, "scratch.json"), [])
    return {
        "MODULE": MODULE,
        "NEIGHBOUR": neighbour.NEIGHBOUR,
        "LAZILY": importlib.import_module("".join(["laz", "ily"])).LAZILY,
        "SETTINGS": settings["SETTINGS"],
        "TOY": toy.TOY,
        "rate": flags.FLAGS.rate,
        "size": [argument for argument in sys.argv if argument.startswith("--size")],
        "ORACLE_MODULE": os.environ.get("ORACLE_MODULE"),
        "parameter": fn_args.custom_config["parameter"],
        "examples": [digest(path) for path in sorted(fn_args.train_files)],
    }


def digest(pattern):
    folder = os.path.dirname(pattern)
    found = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file, indent=1, sort_keys=True)
