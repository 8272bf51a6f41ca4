# SPDX-License-Identifier: Apache-2.0
"""The wheel and what it brings, without tfx-bsl and tensorflow-transform, on every Python."""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stoker.launchers.interpreters.finding import find_python, find_uv

pytestmark = pytest.mark.envs

REPOSITORY = Path(__file__).parents[1]
PENGUIN = REPOSITORY / "examples" / "penguin"
PIPELINE = """
import os
import tensorflow_model_analysis as tfma
from tfx import v1 as tfx

HERE = os.path.dirname(os.path.abspath(__file__))
examples = tfx.components.CsvExampleGen(input_base=os.path.join(HERE, "data"))
statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
TRANSFORM
trainer = tfx.components.Trainer(
    module_file=os.path.join(HERE, "module.py"),
    examples=examples.outputs["examples"],
    schema=schema.outputs["schema"],
    train_args=tfx.proto.TrainArgs(num_steps=60),
    eval_args=tfx.proto.EvalArgs(num_steps=5),
)
config = tfma.EvalConfig(
    model_specs=[tfma.ModelSpec(label_key="class", prediction_key="probabilities")],
    metrics_specs=[
        tfma.MetricsSpec(
            metrics=[
                tfma.MetricConfig(
                    class_name="SparseCategoricalAccuracy",
                    threshold=tfma.MetricThreshold(
                        value_threshold=tfma.GenericValueThreshold(lower_bound={"value": 0.5})
                    ),
                )
            ]
        )
    ],
    slicing_specs=[tfma.SlicingSpec()],
)
evaluator = tfx.components.Evaluator(
    examples=examples.outputs["examples"], model=trainer.outputs["model"], eval_config=config
)
pusher = tfx.components.Pusher(
    model=trainer.outputs["model"],
    model_blessing=evaluator.outputs["blessing"],
    push_destination=tfx.proto.PushDestination(
        filesystem=tfx.proto.PushDestination.Filesystem(base_directory=os.path.join(HERE, "served"))
    ),
)
pipeline = tfx.dsl.Pipeline(
    pipeline_name="core",
    pipeline_root=os.path.join(HERE, "root"),
    components=[examples, statistics, schema, MORE trainer, evaluator, pusher],
)
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(pipeline)
"""
DISTRIBUTIONS = "lib/python*/site-packages/*.dist-info"
TRANSFORM = """
transform = tfx.components.Transform(
    examples=examples.outputs["examples"],
    schema=schema.outputs["schema"],
    module_file=os.path.join(HERE, "preprocessing.py"),
)
"""
PREPROCESSING = """
import tensorflow_transform as tft

def preprocessing_fn(inputs):
    return {"mass": tft.scale_to_z_score(inputs["body_mass_g"])}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run_uv("build", "--wheel", "--out-dir", str(folder), str(REPOSITORY))
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13"])
def python(request, wheel):
    """The interpreter of an environment with the wheel and no extra."""
    base = find_python([request.param]) or pytest.skip(f"there is no Python {request.param} here")
    home = REPOSITORY / ".envs" / f"core-{request.param}"
    inside = str(home / "bin" / "python")
    run_uv("venv", "--clear", "--python", base, str(home))
    run_uv("pip", "install", "--python", inside, "--compile-bytecode", str(wheel))
    yield inside
    shutil.rmtree(home)  # 2.5 GB


def run_uv(*command):
    uv = find_uv() or pytest.skip("there is no uv: pip install uv")
    subprocess.run([uv, *command, "--quiet"], check=True)


def write_data(file):
    """The penguins, with their species as a number too: metrics take no words."""
    file.parent.mkdir()
    with open(PENGUIN / "data" / "penguins.csv", newline="") as source:
        rows = list(csv.DictReader(source))
    species = sorted({row["species"] for row in rows})
    with open(file, "w", newline="") as target:
        writer = csv.DictWriter(target, [*rows[0], "class"])
        writer.writeheader()
        writer.writerows({**row, "class": species.index(row["species"])} for row in rows)


def run(python, folder, *, transform=False):
    text = PIPELINE.replace("TRANSFORM", TRANSFORM if transform else "")
    (folder / "pipeline.py").write_text(text.replace("MORE", "transform," if transform else ""))
    (folder / "preprocessing.py").write_text(PREPROCESSING)
    shutil.copy(PENGUIN / "module.py", folder)
    write_data(folder / "data" / "penguins.csv")
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [python, "pipeline.py"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_whole_pipeline_runs_without_tfx_bsl(python, tmp_path):
    found = {file.name.partition("-")[0] for file in Path(python).parents[1].glob(DISTRIBUTIONS)}
    assert "tensorflow" in found
    assert not found & {"tfx_bsl", "tensorflow_transform", "apache_beam"}
    done = run(python, tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "served").glob("*/saved_model.pb"))
    assert re.search(r"Evaluator\b", done.stderr + done.stdout)


def test_a_pipeline_with_transform_says_before_it_starts_which_extra_it_needs(python, tmp_path):
    done = run(python, tmp_path, transform=True)
    assert done.returncode == 1
    assert "pip install 'stoker[transform]'" in done.stderr
    assert not (tmp_path / "root" / "CsvExampleGen").exists()


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("platform", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_the_core_resolves_to_at_most_70_distributions(version, platform):
    uv = find_uv() or pytest.skip("there is no uv: pip install uv")
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--only-binary", ":all:", "--python-version", version]
    command += ["--python-platform", platform, str(REPOSITORY / "pyproject.toml")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 50 < len(listed.splitlines()) < 70
    assert not re.search(r"^(tfx-bsl|tensorflow-transform|apache-beam)==", listed, re.MULTILINE)
