"""What users get wrong, through LocalDagRunner: a clear error, and nothing published."""

import gzip
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from stoker.artifacts import Examples
from stoker.components.example_gen.component import CsvExampleGen, ImportExampleGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, as_channel
from stoker.errors import BadPipeline, StepFailed, StokerError
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

GOOD = """
import os
def run_fn(fn_args):
    os.makedirs(fn_args.serving_model_dir)
    open(os.path.join(fn_args.serving_model_dir, "model"), "w").close()
"""


def run(root, *components):
    return LocalDagRunner().run(Pipeline("bad", str(root), components=components))


def live_artifacts(root, type_name=None):
    with Store(Pipeline("bad", str(root)).store_config(str(root))) as store:
        return store.artifacts(type_name=type_name, pipeline_name="bad")


@pytest.fixture
def examples(tmp_path):
    artifact = Examples()
    artifact.uri = str(tmp_path / "examples")
    artifact.splits = ["train", "eval"]
    for split in artifact.splits:
        Path(artifact.path(split=split)).mkdir(parents=True)
    return as_channel([artifact])


def train(tmp_path, examples, module, **given):
    file = tmp_path / "module.py"
    file.write_text(module)
    return run(tmp_path / "root", Trainer(module_file=str(file), examples=examples, **given))


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("def run_fn(fn_args):\n  raise KeyError('colour')", "KeyError: 'colour'"),
        ("def run_fn(fn_args): ...", "wrote nothing to fn_args.serving_model_dir"),
        (
            "try:\n  import no_such_package\nexcept ImportError:\n  raise\ndef run_fn(a): ...",
            "No module named 'no_such_package'",
        ),
    ],
    ids=["raises", "no model", "missing import"],
)
def test_a_module_that_is_wrong(tmp_path, examples, module, why):
    with pytest.raises(StepFailed, match=why):
        train(tmp_path, examples, module)
    assert live_artifacts(tmp_path / "root") == []


def test_a_split_that_does_not_exist_lists_those_that_do(tmp_path, examples):
    with pytest.raises(StepFailed, match=r"no split 'trian'; it has \['train', 'eval'\]"):
        train(tmp_path, examples, GOOD, train_args={"splits": ["trian"]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"rows\.csv"),
        ("a,b\n", r"rows\.csv.*row"),
        ("a,b\n1,2\n3,4,5\n", r"rows\.csv.*line 3"),
    ],
    ids=["empty", "header only", "ragged"],
)
def test_a_csv_that_is_wrong(tmp_path, text, why):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text(text)
    with pytest.raises(StepFailed, match=why):
        run(tmp_path / "root", CsvExampleGen(input_base=str(tmp_path / "data")))
    assert live_artifacts(tmp_path / "root") == []


def test_a_folder_without_files(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(BadPipeline, match="CsvExampleGen: No file matches"):
        run(tmp_path / "root", CsvExampleGen(input_base=str(tmp_path / "data")))


def test_a_corrupt_tfrecord_names_file_and_offset(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    with gzip.open(folder / "part.gz", "wb") as file:
        file.write(b"\x05" + bytes(30))
    with pytest.raises(StepFailed, match=r"part\.gz.*(offset|byte)"):
        run(tmp_path / "root", ImportExampleGen(input_base=str(folder)))


@pytest.fixture
def mount(tmp_path):
    """Mounts a small file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    folder = tmp_path / "small"
    folder.mkdir()

    def mounted(options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False)
        if done.returncode:
            pytest.skip("cannot mount here")
        return folder

    yield mounted
    subprocess.run(["umount", folder], check=False)


def fill_up(path):
    ballast = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(ballast, bytes(1 << 12)):
            pass
    except OSError:
        os.close(ballast)


@pytest.mark.slow
def test_a_full_disk_fails_the_step_and_leaves_earlier_outputs_whole(tmp_path, mount):
    root = mount("size=1m")
    (tmp_path / "data").mkdir()
    rows = "\n".join(f"{number},{os.urandom(30).hex()}" for number in range(200))
    (tmp_path / "data" / "rows.csv").write_text("a,b\n" + rows)
    step = CsvExampleGen(input_base=str(tmp_path / "data"))
    first = run(root, step).outputs["CsvExampleGen"]["examples"][0]
    fill_up(root / "ballast")
    with pytest.raises((StokerError, OSError), match=r"(?i)no space|full"):
        run(root, CsvExampleGen(input_base=str(tmp_path / "data")))
    (root / "ballast").unlink()
    statistics = StatisticsGen(examples=as_channel([first]))
    assert run(root, statistics).outputs["StatisticsGen"]["statistics"]


def test_a_read_only_root_is_refused_before_anything_starts(mount, examples):
    root = mount("size=1m,ro")
    with pytest.raises(StokerError, match=f"Cannot write to the pipeline root {root}"):
        run(root, Trainer(module_file="module.py", examples=examples))


def test_a_root_that_is_a_file_is_refused(tmp_path, examples):
    (tmp_path / "root").write_text("")
    with pytest.raises(StokerError, match="Cannot write to the pipeline root"):
        run(tmp_path / "root", Trainer(module_file="module.py", examples=examples))


def test_a_store_of_a_newer_schema_is_refused(tmp_path, examples):
    train(tmp_path, examples, GOOD, check=False)
    with sqlite3.connect(tmp_path / "root" / "metadata.db") as store:
        store.execute("UPDATE MLMDEnv SET schema_version = 11")
    store.close()
    with pytest.raises(StokerError, match=r"metadata\.db.*11"):
        train(tmp_path, examples, GOOD)
