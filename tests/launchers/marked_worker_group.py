# SPDX-License-Identifier: Apache-2.0
"""A worker group whose processes can be found, with code of their own instead of TensorFlow's."""

import os
import signal
import textwrap
import threading
import time
import uuid
from pathlib import Path

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.runner import LocalDagRunner
from stoker.task import Workers

TWO = Workers(2)
MODULE = """
    import json, os, signal, sys, time
    from pathlib import Path

    def run_fn(fn_args):
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        task = config.get("task", {"type": "alone", "index": 0})
        me = f"{task['type']}-{task['index']}"
        notes = Path(fn_args.custom_config["notes"])
        attempt = len(list(notes.glob(f"{me}.*")))
        (notes / f"{me}.{attempt}").write_text(json.dumps({"cluster": config.get("cluster")}))
        print(f"{me} says hello", flush=True)
        if me == "chief-0":
            folder = Path(fn_args.serving_model_dir)
            folder.mkdir(exist_ok=True)
            (folder / f"of-attempt-{attempt}").write_text(me)
        while len(list(notes.iterdir())) < fn_args.custom_config["num"]:
            time.sleep(0.01)
        BODY
        Path(fn_args.serving_model_dir).mkdir(exist_ok=True)
        Path(fn_args.serving_model_dir, "model.txt").write_text(me)
"""


class WorkerGroup:
    """A pipeline with one Trainer, whose processes carry a mark."""

    def __init__(self, folder, monkeypatch, launcher=None):
        self.launcher = launcher
        self.folder = folder
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.mark = uuid.uuid4().hex
        monkeypatch.setenv("STOKER_TEST_MARK", self.mark)

    def train(self, body, workers=TWO, **arguments):
        text = textwrap.dedent(MODULE).replace("BODY", textwrap.indent(body, " " * 4).strip())
        (self.folder / "module.py").write_text(text)
        data = Examples()
        data.uri, data.splits = str(self.folder / "data"), ["train", "eval"]
        trainer = Trainer(
            examples=as_channel([data]),
            module_file=str(self.folder / "module.py"),
            custom_config={"notes": str(self.notes), "num": workers.count if workers else 1},
            workers=workers,
            **arguments,
        )
        pipeline = Pipeline("worker groups", str(self.folder / "root"), components=[trainer])
        try:
            return LocalDagRunner(self.launcher).run(pipeline).outputs["Trainer"]
        finally:
            assert self.processes() == [], "left behind"

    def processes(self):
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                mine = f"STOKER_TEST_MARK={self.mark}".encode() in environ.read_bytes()
            except OSError:
                continue
            if mine and int(environ.parent.name) != os.getpid():
                found.append(environ.parent.name)
        return found

    def press_ctrl_c_when_up(self):
        """Interrupt this process as soon as two members are up."""

        def press():
            while len(self.starts()) < 2:
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()

    def starts(self):
        return sorted(path.name for path in self.notes.iterdir())
