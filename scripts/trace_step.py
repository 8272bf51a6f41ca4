# SPDX-License-Identifier: Apache-2.0
"""What a Trainer step passes through before the user's `run_fn`: files, functions, forms of data.

    python scripts/trace_step.py            # the figures in docs/map.md
    python scripts/trace_step.py --list     # and every file, with the functions entered in it

A small pipeline, CsvExampleGen and Trainer, really runs. Its own process and the worker, which is
forked from the fork server, note each function of `stoker` that they enter (`sys.setprofile`);
what the fork server did before it forked is not part of the step.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

PIPELINE = """\
import sys
import threading

import step_profile

sys.setprofile(step_profile.see)
threading.setprofile(step_profile.see)  # tasks are launched from threads
from tfx import v1 as tfx

example_gen = tfx.components.CsvExampleGen(input_base="data")
trainer = tfx.components.Trainer(
    module_file="module.py",
    examples=example_gen.outputs["examples"],
    train_args=tfx.proto.TrainArgs(num_steps=3),
    eval_args=tfx.proto.EvalArgs(num_steps=1),
    check=False,
)
pipeline = tfx.dsl.Pipeline(
    pipeline_name="traced", pipeline_root="root", components=[example_gen, trainer]
)
tfx.orchestration.LocalDagRunner().run(pipeline)
step_profile.write("runner")
"""
MODULE = """
from pathlib import Path


def run_fn(fn_args):
    assert fn_args.train_steps == 3
    folder = Path(fn_args.serving_model_dir)
    folder.mkdir(parents=True)
    (folder / "model.txt").write_text("trained")
"""
PROFILE = """
import inspect
import json
import os
import sys
import threading

import stoker

HOME = os.path.dirname(stoker.__file__) + os.sep
JSON_FORMAT = os.path.join("google", "protobuf", "json_format.py")
CROSSINGS = {"MessageToJson", "MessageToDict", "Parse", "ParseDict"}
entered, crossings = [], []
state = {"part": "declaration", "on": True}


def see(frame, event, _):
    if event != "call" or not state["on"]:
        return
    code = frame.f_code
    thread = threading.current_thread()
    if thread.ident == state.get("waits") or thread.name.startswith("Thread-"):
        return  # it waits for the task, or only shows it
    if code.co_filename.endswith(JSON_FORMAT):
        see_crossing(frame)
    elif code.co_filename.startswith(HOME) and is_function(code):
        node = frame.f_locals.get("node")
        if code.co_name == "work_on" and getattr(node, "id", "") == "Trainer":
            state["part"] = "step"
        entered.append((state["part"], code.co_filename[len(HOME):], code.co_qualname))
        if code.co_name == "send" and state["part"] == "step":
            state["on"] = False  # the worker has its task: what follows only listens to it
    elif code.co_name == "submit" and state["part"] == "step":
        state["waits"] = threading.get_ident()  # another thread launches the task
    elif code.co_name == "run_fn":
        write("worker")
        sys.setprofile(None)


def is_function(code):  # not the body of a module, a class or a comprehension
    return code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")


def see_crossing(frame):
    message = frame.f_locals.get("message")
    inner = frame.f_back.f_code.co_filename.endswith(JSON_FORMAT)
    kind = getattr(getattr(message, "DESCRIPTOR", None), "name", "")
    if frame.f_code.co_name in CROSSINGS and kind == "TrainArgs" and not inner:
        caller = frame.f_back.f_code
        crossings.append(f"{frame.f_code.co_name} in {caller.co_filename[len(HOME):]}")


def write(name):
    with open(os.path.join(os.environ["STEP_PROFILE"], name + ".json"), "w") as file:
        json.dump({"entered": sorted(set(entered)), "crossings": crossings}, file)


def begin_worker():
    entered.clear()
    crossings.clear()
    state.update(part="worker", on=True, waits=None)
    sys.setprofile(see)


os.register_at_fork(after_in_child=begin_worker)
"""
# Every Python of the run has it: the fork server, and so the worker, has no other way in.
SITE = "import step_profile\n"


def trace(folder: Path) -> dict[str, dict[str, list[list[str]]]]:
    """Run the pipeline in `folder`; what the runner and the worker have noted."""
    files = {"pipeline.py": PIPELINE, "module.py": MODULE, "data/rows.csv": "x,y\n1,2\n" * 20}
    files |= {"hook/step_profile.py": PROFILE, "hook/sitecustomize.py": SITE}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    paths = [str(folder / "hook"), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "STEP_PROFILE": str(folder)}
    subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=folder,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in PROCESSES}


PROCESSES = ("runner", "worker")


def main() -> None:
    """Print what was entered."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name every file and function")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = trace(Path(folder))
    entered = [tuple(row) for name in PROCESSES for row in found[name]["entered"]]
    parts = ("declaration", "step", "worker")
    for part in parts:
        report(part, [row for row in entered if row[0] == part])
    report("step and worker: the step alone", [row for row in entered if row[0] != parts[0]])
    report("all, before run_fn", entered)
    crossings = [where for name in PROCESSES for where in found[name]["crossings"]]
    print(f"train_args crosses between message and JSON {len(crossings)} times:")
    print(textwrap.indent("\n".join(crossings), "  "))
    if arguments.list:
        for part in parts:
            print(f"\n{part}")
            for file in sorted({row[1] for row in entered if row[0] == part}):
                names = [name for where, path, name in entered if (where, path) == (part, file)]
                print(f"  {file}: {', '.join(names)}")


def report(part: str, rows: list[tuple[str, ...]]) -> None:
    """One line: how many files, how many functions."""
    files = Counter(file for _, file, _ in set(rows))
    functions = {(file, name) for _, file, name in rows}
    print(f"{part:>32}: {len(files):3} files, {len(functions):3} functions")


if __name__ == "__main__":
    main()
