# SPDX-License-Identifier: Apache-2.0
"""Records docs/screens.md: what a terminal of 80 and of 120 columns shows of a few runs.

    python scripts/record_screens.py             # all of them; it needs tmux
    python scripts/record_screens.py rows fit    # some; the others stay as they are in the page

Each scene is a small project that really runs, typed into a shell in tmux; a screen is what
`tmux capture-pane` sees at that moment.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "screens.md"
FOLDER = Path(tempfile.gettempdir()) / "rides"
WIDTHS = (80, 120)
LINES = 30
PATIENCE_SECONDS = 900.0
PROMPT = "$ "
SERVER = ["tmux", "-L", "stoker-screens", "-f", os.devnull]

HEADER = """\
# What you see

Screens of real runs, recorded by `python scripts/record_screens.py` in terminals of 80 and of 120
columns. The last line of a screen that is still at work is live: it says which step runs, what it
does, how far it is, how long it has run, and how long it will. In a log there are plain lines
instead: [the command line](cli.md) says how many.
"""

PIPELINE = """\
from tfx import v1 as tfx

examples = tfx.components.CsvExampleGen(input_base="data")
statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
trainer = tfx.components.Trainer(
    module_file="module.py",
    examples=examples.outputs["examples"],
    schema=schema.outputs["schema"],
    train_args=tfx.proto.TrainArgs(num_steps=50),
    eval_args=tfx.proto.EvalArgs(num_steps=5),
)
pipeline = tfx.dsl.Pipeline(
    "rides", "root", components=[examples, statistics, schema, trainer], enable_cache=True
)
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(pipeline)
"""
ONLY_DATA = PIPELINE.replace(", trainer]", "]")
MODULE = """\
import keras
import tfx.v1 as tfx
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.public import tfxio

NUMBERS = ["age", "fare", "miles"]


def read(fn_args, files, size):
    options = tfxio.TensorFlowDatasetOptions(batch_size=size, label_key="tips")
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    data = fn_args.data_accessor.tf_dataset_factory(files, options, schema)
    return data.map(lambda row, tips: ({name: row[name] for name in NUMBERS}, tips))


def run_fn(fn_args):
    inputs = {name: keras.Input((1,), name=name) for name in NUMBERS}
    hidden = keras.layers.Dense(8, "relu")(keras.layers.Concatenate()(list(inputs.values())))
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(hidden))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(
        read(fn_args, fn_args.train_files, 64),
        epochs=40,
        steps_per_epoch=fn_args.train_steps,
        validation_data=read(fn_args, fn_args.eval_files, 64),
        validation_steps=fn_args.eval_steps,
        shuffle=False,
    )
    model.export(fn_args.serving_model_dir, verbose=False)
"""


class Terminal:
    """A shell in tmux."""

    def __init__(self, columns: int) -> None:
        self._columns = columns

    def __enter__(self) -> "Terminal":
        variables = {"PS1": PROMPT, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        size = ["-x", str(self._columns), "-y", str(LINES)]
        shell = ["env", *(f"{name}={value}" for name, value in variables.items())]
        shell += ["bash", "--norc", "--noprofile"]
        command = [*SERVER, "new-session", "-d", *size, "-c", str(FOLDER), *shell]
        subprocess.run(command, check=True)
        self.wait(lambda screen: screen.endswith(PROMPT.strip()))
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run([*SERVER, "kill-server"], check=False)

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        subprocess.run([*SERVER, "send-keys", *keys], check=True)

    def run(self, command: str) -> None:
        """Type a command on an empty screen."""
        self.type("clear", "Enter")
        time.sleep(0.5)
        self.type(command, "Enter")
        time.sleep(0.5)

    def screen(self) -> str:
        """What is to be seen now."""
        command = [*SERVER, "capture-pane", "-p"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return "\n".join(line.rstrip() for line in shown.splitlines()).rstrip()

    def wait(self, is_reached: Callable[[str], bool]) -> str:
        """The first screen of which something is true."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_reached(shown := self.screen()):
            if time.monotonic() > until or shown.endswith(f"\n{PROMPT.strip()}"):
                raise SystemExit(f"This was waited for in vain:\n{shown}")
            time.sleep(0.1)
        return shown

    def wait_for_prompt(self) -> str:
        """The screen when the command is over, without the prompt that follows."""
        shown = self.wait(lambda screen: screen.endswith(f"\n{PROMPT.strip()}"))
        return shown.removesuffix(PROMPT.strip()).rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One run that is looked at."""

    title: str
    text: str
    play: Callable[[Terminal], Iterator[str]]
    """Runs it, and gives the screens."""
    files: dict[str, str]
    num_rows: int = 20_000


def _play_rows(terminal: Terminal) -> Iterator[str]:
    terminal.run("python pipeline.py")
    yield terminal.wait(lambda screen: bool(re.search(r"[5-9]\d\d,\d{3}/~", screen)))
    yield terminal.wait_for_prompt()


def _play_fit(terminal: Terminal) -> Iterator[str]:
    terminal.run("python pipeline.py")
    yield terminal.wait(lambda screen: bool(re.search(r"━ +step .*epoch 1\d/40", screen)))
    yield terminal.wait_for_prompt()


def _play_stop(terminal: Terminal) -> Iterator[str]:
    terminal.run("python pipeline.py")
    terminal.wait(lambda screen: "epoch 20/40" in screen)
    terminal.type("C-c")
    yield terminal.wait_for_prompt()
    terminal.run("python pipeline.py")
    yield terminal.wait(lambda screen: bool(re.search(r"━ +step .*epoch 2[2-9]/40", screen)))


def _play_once(terminal: Terminal) -> Iterator[str]:
    terminal.run("python pipeline.py")
    yield terminal.wait_for_prompt()


SCENES = {
    "rows": Scene(
        title="A million and a half rows through ExampleGen",
        text="While they are read, and when all is done.",
        play=_play_rows,
        files={"pipeline.py": ONLY_DATA},
        num_rows=1_500_000,
    ),
    "fit": Scene(
        title="A fit of 40 epochs",
        text="Each epoch leaves a line, as it does in a log.",
        play=_play_fit,
        files={"pipeline.py": PIPELINE, "module.py": MODULE},
    ),
    "stop": Scene(
        title="Ctrl-C, and the same command again",
        text="The training goes on where it was.",
        play=_play_stop,
        files={"pipeline.py": PIPELINE, "module.py": MODULE},
    ),
    "column": Scene(
        title="A column that does not exist",
        text="`agee` instead of `age`.",
        play=_play_once,
        files={"pipeline.py": PIPELINE, "module.py": MODULE.replace('"age"', '"agee"')},
    ),
    "syntax": Scene(
        title="A module with a syntax error",
        text="It is found before ExampleGen runs.",
        play=_play_once,
        files={"pipeline.py": PIPELINE, "module.py": MODULE.replace("(fn_args):", "(fn_args)")},
    ),
}


@contextmanager
def project(scene: Scene) -> Iterator[None]:
    """The files of a scene, in an empty folder."""
    if FOLDER.exists():
        raise SystemExit(f"{FOLDER} exists: move it away.")
    (FOLDER / "data").mkdir(parents=True)
    try:
        for name, text in scene.files.items():
            (FOLDER / name).write_text(text)
        write_rows(FOLDER / "data" / "rides.csv", scene.num_rows)
        yield
    finally:
        shutil.rmtree(FOLDER)


def write_rows(path: Path, num_rows: int) -> None:
    """Rides that nobody took."""
    dice = random.Random(7)
    with path.open("w") as file:
        file.write("age,fare,city,miles,tips\n")
        for _ in range(num_rows):
            miles = dice.random() * 20
            cells = (dice.randint(18, 90), f"{2.5 + miles * 2:.2f}", dice.choice(["Ulm", "Kiel"]))
            file.write(",".join(map(str, (*cells, f"{miles:.3f}", int(miles > 9)))) + "\n")


def record(name: str) -> str:
    """The section of the page for a scene."""
    scene = SCENES[name]
    parts = [f"## {scene.title}", scene.text]
    for columns in WIDTHS:
        with project(scene), Terminal(columns) as terminal:
            for screen in scene.play(terminal):
                parts.append(f"```text\n{screen}\n```")
                print(f"--- {name}, {columns} columns\n{screen}", flush=True)
    return "\n\n".join(parts)


def read_sections() -> dict[str, str]:
    """The sections that the page has, by their titles."""
    text = PAGE.read_text() if PAGE.exists() else ""
    sections = [f"## {part.strip()}" for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]]
    return {section.partition("\n")[0].removeprefix("## "): section for section in sections}


def main() -> None:
    """Record, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scene", nargs="*", help=f"of {', '.join(SCENES)}; all by default")
    for name in parser.parse_args().scene or SCENES:
        recorded = read_sections() | {SCENES[name].title: record(name)}
        kept = [recorded[one.title] for one in SCENES.values() if one.title in recorded]
        PAGE.write_text("\n\n".join([HEADER.rstrip(), *kept]) + "\n")


if __name__ == "__main__":
    main()
