# SPDX-License-Identifier: Apache-2.0
"""`stoker check` over files, folders and notebooks: what runs, and what does not, line by line."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from stoker.any_python import url_files
from stoker.any_python.url_files import _PROXIES
from stoker.dsl import beam
from stoker.patches.registry import Patch

REPOSITORY = Path(__file__).parents[2]
PIECE = "\nglobals()"
"""Says of a text that it is a piece of one: names may get their values elsewhere."""


@pytest.fixture
def check(stoker, here):
    """Write files, check one of them or the folder, and see the answer as a record."""

    def write_and_check(target=".", **files):
        for name, text in files.items():
            path = here / name.replace("__", "/")
            path = path.with_suffix(path.suffix or ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = stoker("check", target, "--json")
        assert result.code == (0 if result.record["would_run"] else 1)
        return result.record

    return write_and_check


def lines(record, *states):
    """The findings about single lines, as `state line: message`."""
    return [
        f"{one['state']} {one['line']}: {one['message']}"
        for one in record["findings"]
        if one["line"] and (not states or one["state"] in states)
    ]


def notebook(*cells):
    """A notebook of code cells, as Jupyter saves it."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    text = {"cell_type": "markdown", "source": ["# What this is about"]}
    return json.dumps({"cells": [text, *code], "nbformat": 4})


def test_big_query_is_needed_where_it_cannot_be_reached(check, monkeypatch):
    def find_nobody(*_):
        raise OSError("Name or service not known")

    for proxy in (*_PROXIES, "BIGQUERY_EMULATOR_HOST"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr(url_files.socket, "getaddrinfo", find_nobody)
    gen = "from tfx.extensions.google_cloud_big_query.example_gen.component import *"
    record = check(pipeline=f"{gen}\nBigQueryExampleGen(query='SELECT 1')")
    assert not record["would_run"]
    assert "bigquery.googleapis.com is not found" in "".join(lines(record, "needs"))
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "localhost:9050")
    assert check()["would_run"]


def test_what_a_program_imports_finds_its_own_imports_beside_the_program(check):
    record = check(
        "src/run.py",
        src__run="import tfx\nfrom parts import steps",
        src__parts__steps="from helpers import features",
        src__helpers__features="import no_such_package",
    )
    (need,) = lines(record, "needs")
    assert need.startswith("needs 1: No module named 'no_such_package'")
    record = check("src/run.py", src__run="import tfx\nfrom src.helpers import features")
    assert "src/helpers/features.py" in record["files"]  # `python -m src.run` finds it


def test_a_variable_that_nobody_sets_is_needed(check):
    ask = "import os, tfx\ndef make():\n    return os.environ['MY_TEST_BUCKET']\n"
    record = check(pipeline=f"{ask}bucket = make()")
    assert not record["would_run"]
    assert lines(record, "needs") == [
        "needs 3: the environment variable MY_TEST_BUCKET is not set: export it before the run."
    ]
    assert check(pipeline=ask)["would_run"]
    settings = "load_dotenv = print\nload_dotenv()"
    assert check(pipeline=f"import settings\n{ask}make()", settings=settings)["would_run"]
    caught = (
        f"try:\n    {ask.splitlines()[2].strip().removeprefix('return ')}\nexcept KeyError: ..."
    )
    assert not lines(check(pipeline=f"import os\n{caught}"), "needs")


def test_a_variable_that_nobody_sets_is_needed_where_text_is_made_of_it(check):
    configs = "import os\nBUCKET = os.getenv('MY_TEST_BUCKET')\nROOT = os.environ.get('MY_ROOT')\n"
    start = "import os, configs, tfx\nfrom configs import ROOT\n"
    record = check("run.py", run=f"{start}out = 'gs://' + configs.BUCKET", configs=configs)
    assert not record["would_run"]
    assert lines(record, "needs") == [
        "needs 3: the environment variable MY_TEST_BUCKET is not set, and this line makes text of "
        "it: export it before the run."
    ]
    assert not check("run.py", run=f"{start}data = os.path.join(ROOT, 'data')")["would_run"]
    assert check("run.py", run=f"{start}print(configs.BUCKET)")["would_run"]
    given = configs.replace("'MY_TEST_BUCKET'", "'MY_TEST_BUCKET', 'b'")
    used = f"{start}out = 'gs://' + configs.BUCKET"
    assert not lines(check("run.py", run=used, configs=given), "needs")
    given = f"{configs}if not BUCKET:\n    BUCKET = 'b'\n"
    assert not lines(check("run.py", run=used, configs=given), "needs")


@pytest.mark.parametrize(
    ("source", "line", "advice"),
    [
        ("from tfx.components import ExampleDiff", 1, "previous_statistics"),
        ("from tfx import v1 as tfx\n\ntfx.components.ExampleDiff(x=1)", 3, "previous_statistics"),
        ("import tfx.components\ntfx.components.ExampleDiff()", 2, "previous_statistics"),
        ("import tensorflow_data_validation as tfdv\ntfdv.DetectFeatureSkew", 2, "skew_comparator"),
        ("import kfp\nkfp.Client()", 2, "`stoker run` runs the pipeline on this machine"),
        ("from tensorflow_cloud import CloudTuner\nCloudTuner()", 2, "run on this machine"),
        ("from airflow import models", 1, "`stoker run` runs the pipeline on this machine"),
        ("from google.colab import drive", 1, "paths on this machine"),
        ("from tfx import components as c\nmake = c.ExampleDiff", 2, "previous_statistics"),
        (
            "from tfx.v1 import extensions\nx = extensions.google_cloud_ai_platform\nx.Trainer()",
            3,
            "Use Trainer from tfx.components",
        ),
        (
            "from tfx.dsl.components.base import executor_spec\n"
            "from tfx.extensions.google_cloud_ai_platform.trainer import executor\n"
            "executor_spec.ExecutorClassSpec(executor.GenericExecutor)",
            3,
            "Use Trainer from tfx.components",
        ),
        ("from tfx.components import *\nTrainer(train_argz=1)", 2, "no argument 'train_argz'"),
        ("from tfx.proto import trainer_pb2\ntrainer_pb2.TrainArgs(stepz=1)", 2, "num_steps"),
        ("import tfx.nope", 1, "Stoker has no tfx.nope"),
        ("from tfx.proto import schema_pb2", 1, "tensorflow_metadata.proto.v0 has it"),
        ("from tfx.dsl.components.base import BaseComponent", 1, "base.base_component has it"),
        ("from tfx.dsl.io.fileio import nope", 1, "Stoker has no tfx.dsl.io.fileio.nope."),
        (
            "import ml_metadata as m\nm.proto.metadata_store_pb2.Nope",
            2,
            "Stoker has no ml_metadata.proto.metadata_store_pb2.Nope",
        ),
        ("import tensorflow_transform as tft\ntft.nope(1)", 2, "tensorflow_transform.nope is not"),
        ("def main(:\n", 1, "this is not Python"),
        ("from tfx.components import Trainer\nTrainer(module_file='no://b/m.py')", 2, "Copy or"),
        ("from tfx import v1\nv1.dsl.Pipeline('p', pipeline_root='no://b')", 2, "Copy or mount"),
    ],
)
def test_what_is_not_here_is_refused_with_its_line_and_the_way_around(check, source, line, advice):
    record = check(pipeline=source)
    (finding,) = [one for one in record["findings"] if one["state"] == "refused"]

    assert (record["would_run"], finding["line"], finding["file"]) == (False, line, "pipeline.py")
    assert advice in finding["message"]
    assert "\n" not in finding["message"]


@pytest.mark.parametrize("step", ["QueryBasedExampleGen", "StatisticsGen", "Trainer"])
def test_an_argument_that_a_step_has_not_is_told_as_the_run_tells_it(check, step):
    source = (
        f"from tfx.components.example_gen.component import *\nfrom tfx.components import *\n{step}"
    )
    with pytest.raises(TypeError) as raised:
        exec(f"{source}(instance_nam='x')", {})
    record = check(pipeline=f"{source}(instance_nam='x')")
    assert lines(record, "refused") == [f"refused 3: {raised.value}"]
    assert "Did you mean 'instance_name'? It takes " in str(raised.value)


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("tf.keras.applications.MobileNetV2(include_top=False)", "~/.keras/models"),
        ("tf.keras.applications.resnet50.ResNet50(weights='imagenet')", "~/.keras/models"),
        ("tf.keras.applications.MobileNetV2(weights=None)", None),
        ("tf.keras.datasets.fashion_mnist.load_data()", "~/.keras/datasets"),
        ("hub.KerasLayer('https://tfhub.dev/google/nnlm/2')", "TFHUB_CACHE_DIR"),
        ("URL = 'https://tfhub.dev/google/nnlm/2'; hub.KerasLayer(URL)", "TFHUB_CACHE_DIR"),
        ("hub.KerasLayer('models/nnlm')", None),
        ("urllib.request.urlretrieve(URL, 'data.csv')", "put the file there"),
        ("tfds.load('fashion_mnist', data_dir='here')", "prepare it there first"),
        ("tf.keras.utils.get_file('x.csv', 'https://x.org/x.csv')", "https://x.org/x.csv"),
        ("pd.read_csv('https://x.org/x.csv')", "name the file instead"),
        ("pd.read_csv('x.csv')", None),
        ("nltk.download('no-such-corpus')", "unless nltk_data has it"),
        ("AutoTokenizer.from_pretrained('no-such-owner/bert')", "its folder or HF_HOME"),
        ("kagglehub.dataset_download('no-such-owner/data')", "leave the line out"),
    ],
)
def test_what_is_downloaded_in_the_middle_of_a_run_is_told(check, source, advice, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://there.is.a.network:80")
    record = check(
        module=f"import tensorflow as tf\nimport urllib.request\ndef run_fn(f):\n  {source}{PIECE}"
    )
    told = lines(record, "needs")

    assert record["would_run"]
    assert told == [one for one in told if advice in one and one.startswith("needs 4: ")]
    assert len(told) == (advice is not None)


def test_what_must_be_downloaded_from_a_server_that_is_not_found_would_not_run(check, monkeypatch):
    for proxy in _PROXIES:
        monkeypatch.delenv(proxy, raising=False)
    module = "def run_fn(f):\n  build()\ndef build():\n  hub.load('https://hub.invalid/model')"
    record = check(module=module)
    assert not record["would_run"]
    (told,) = lines(record, "needs")
    assert told.startswith("needs 4: hub.invalid is not found")
    assert check(module=module.replace("build()\n", "if f: build()\n", 1))["would_run"]


DATAFLOW = ["--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://b/t"]


@pytest.fixture
def without_network(monkeypatch):
    """No server has an address, and no proxy is there to ask."""
    for proxy in _PROXIES:
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr(beam, "_DATAFLOW_SERVER", "dataflow.invalid")


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize(
    ("source", "line"),
    [
        (
            "from tfx import v1 as tfx\nstep = tfx.components.Transform(module_file='m.py')\n"
            f"tfx.dsl.Pipeline('p', 'root', components=[step], beam_pipeline_args={DATAFLOW})",
            3,
        ),
        (
            f"from tfx import v1 as tfx\nFLAGS = {DATAFLOW}\ndef make(flags):\n"
            "  step = tfx.components.Transform(module_file='m.py')\n"
            "  tfx.dsl.Pipeline('p', 'root', components=[step], beam_pipeline_args=flags)\n"
            "make(FLAGS)",
            5,
        ),
        ("import apache_beam as beam\nwith beam.Pipeline(runner='DataflowRunner'): ...", 2),
        ("import apache_beam\nRUN = 'DataflowRunner'\napache_beam.Pipeline(RUN, options=1)", 3),
        (
            "import apache_beam as beam\nfrom apache_beam.options import pipeline_options\n"
            f"o = pipeline_options.PipelineOptions({DATAFLOW})\nbeam.Pipeline(options=o)",
            3,
        ),
        (
            "import apache_beam as beam\nGIVEN = {'runner': 'DataflowRunner', 'project': 'p'}\n"
            "beam.Pipeline(options=beam.pipeline.PipelineOptions(flags=[], **GIVEN))",
            3,
        ),
    ],
)
def test_a_beam_runner_that_cannot_be_asked_is_told(check, source, line):
    module = {"m": "def preprocessing_fn(inputs): ..."} if "m.py" in source else {}
    record = check(pipeline=source, **module)
    (told,) = lines(record, "needs")

    assert not record["would_run"]
    assert told.startswith(f"needs {line}: --runner=DataflowRunner cannot be asked: dataflow.inv")
    assert told.endswith("Or leave the flag out to compute on this machine.")


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize(
    ("source", "would_run"),
    [
        (
            "from tfx.components import CsvExampleGen\nCsvExampleGen(input_base='gs://b/data')",
            False,
        ),
        (
            "from tfx.components import CsvExampleGen\n"
            "B = 'b'\nDATA = 'gs://{}/{}'.format(B, 'data')\nCsvExampleGen(input_base=DATA)",
            False,
        ),
        ("from tfx.components import CsvExampleGen\nif x:\n  CsvExampleGen('gs://b/data')", True),
        ("from tfx import v1\nv1.dsl.Pipeline('p', pipeline_root='gs://b/root')", True),
        (
            "from tfx import v1\nv1.components.CsvExampleGen('gs://b/data')\n"
            "v1.orchestration.experimental.KubeflowV2DagRunner",
            True,
        ),
        (
            "from tfx import v1\nfrom tfx.orchestration.experimental.interactive import "
            "interactive_context\ncontext = interactive_context.InteractiveContext()\n"
            "context.run(v1.components.CsvExampleGen('gs://b/data'))\n"
            "v1.orchestration.experimental.KubeflowV2DagRunner",
            False,
        ),
    ],
)
def test_a_bucket_whose_server_is_not_found_is_told(check, monkeypatch, source, would_run):
    monkeypatch.setitem(url_files._SERVERS, "gs", "storage.invalid")
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    record = check(pipeline=source)
    (told,) = lines(record, "needs")

    assert record["would_run"] == would_run
    assert "cannot be reached: storage.invalid is not found" in told


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize(
    ("imports", "place"),
    [
        ("from settings import configs", "configs.DATA"),
        ("import settings.configs as c", "c.DATA"),
        ("from settings.configs import DATA as data", "data"),
        ("import os", "os.environ.get('MY_TEST_DATA', 'gs://b/data')"),
        ("import os", "os.path.join(os.getenv('MY_TEST_DATA', 'gs://b'), 'data')"),
    ],
)
def test_a_bucket_that_another_file_or_a_default_names_is_told(check, monkeypatch, imports, place):
    monkeypatch.setitem(url_files._SERVERS, "gs", "storage.invalid")
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    configs = "BUCKET = 'b'\nDATA = f'gs://{BUCKET}/data'\n"
    steps = f"from tfx.components import CsvExampleGen\n{imports}\nCsvExampleGen({place})"
    files = {"settings/configs": configs, "settings/steps": steps, "settings/settings": ""}
    record = check("run.py", run="from settings import configs, steps", **files)

    assert not record["would_run"]
    assert "gs://b/data cannot be reached" in lines(record, "needs")[0]


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize("set_by", ["os.environ['MY_DATA'] = input()", "load_dotenv()"])
def test_a_default_is_no_bucket_where_the_file_may_set_the_variable(check, monkeypatch, set_by):
    monkeypatch.setitem(url_files._SERVERS, "gs", "storage.invalid")
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    start = "import os\nfrom tfx.components import CsvExampleGen\ndef load_dotenv(): ...\n"
    used = "CsvExampleGen(os.getenv('MY_DATA', 'gs://b/data'))"
    assert check("run.py", run=f"{start}{set_by}\n{used}")["would_run"]
    assert not check("run.py", run=f"{start}{used}")["would_run"]
    monkeypatch.setenv("MY_DATA", "data")
    assert check("run.py", run=f"{start}{used}")["would_run"]


@pytest.mark.usefixtures("without_network")
def test_a_beam_runner_that_only_one_way_names_is_told_without_stopping(check):
    source = (
        "import apache_beam as beam\ndef cloud():\n  return beam.Pipeline(runner='DataflowRunner')"
        "\ndef main(args):\n  p = cloud() if args.cloud else beam.Pipeline()\nmain(1)"
    )
    record = check(pipeline=source)
    assert record["would_run"]
    assert len(lines(record, "needs")) == 1


@pytest.mark.usefixtures("without_network")
@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow_data_validation as tfdv\n"
        "from apache_beam.options.pipeline_options import PipelineOptions\n"
        f"tfdv.generate_statistics_from_csv(input(), pipeline_options=PipelineOptions({DATAFLOW}))",
        "from tfx import v1 as tfx\n\n"
        f"tfx.dsl.Pipeline('p', 'root', components=[], beam_pipeline_args={DATAFLOW})",
        "from apache_beam.options import pipeline_options as o\noptions = o.PipelineOptions()\n"
        "options.view_as(o.StandardOptions).runner = 'DataflowRunner'",
    ],
)
def test_a_beam_runner_that_is_not_used_is_told_as_a_difference(check, source):
    record = check(pipeline=source)
    assert record["would_run"]
    (told,) = lines(record, "differs")
    assert told.startswith("differs 3: DataflowRunner is not used: ")


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("import tensorflow_addons", "stoker env create tf-2.15, and Trainer(python='tf-2.15')"),
        ("import tensorflow as tf\nx = tf.contrib.learn", "stoker env create tf-1.15"),
        ("import tensorflow as tf\nx = tf.placeholder(tf.float32)", "put `import tfx` before"),
        (
            "import tensorflow.python.keras.estimator",
            "Use tensorflow.keras.estimator, or the environment of its time",
        ),
        ("from tensorflow.contrib import layers", "stoker env create tf-1.15"),
        ("import tensorflow_model_analysis as tfma\ntfma.evaluators", "'stoker[evaluator]'"),
        (
            "import no_such_package.x",
            "perhaps pip install no-such-package, or put its file beside this one.",
        ),
        ("from google.cloud import no_such", "pip install google-cloud-no-such"),
        ("from tfx.components import Trainer\nTrainer(module_file='nope.py')", "no file nope.py"),
    ],
)
def test_what_can_be_had_is_told_with_the_way_to_have_it(check, source, advice):
    record = check(module=source)
    (finding,) = [one for one in record["findings"] if one["state"] != "runs"]

    assert (record["would_run"], finding["state"]) == (False, "needs")
    assert advice in finding["message"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner\nBeamDagRunner()",
            "BeamDagRunner runs the steps in processes of this machine, not as a Beam pipeline.",
        ),
        (
            "import tfx\ntfx.components.ModelValidator",
            "ModelValidator blesses a model that answers; thresholds are Evaluator's.",
        ),
        (
            "import tfx.v1 as t\nt.orchestration.experimental.KubeflowDagRunner",
            "KubeflowDagRunner makes a file of commands, one for each step; `stoker run` runs the "
            "pipeline on this machine.",
        ),
    ],
)
def test_what_differs_on_purpose_is_told_and_would_run(check, source, message):
    record = check(pipeline=source)

    assert record["would_run"]
    assert lines(record, "differs") == [f"differs 2: {message}"]


@pytest.mark.parametrize(
    "source",
    [
        "import os, numpy, tfxtras_of_mine",
        "from . import tfx",
        "from tfx.components import Trainer\nTrainer(**given)",
        "from tfx import v1 as tfx\ntfx.dsl.Resolver(model=1).with_id('x')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tfx.components import Nope",
        "try:\n    import tensorflow_addons\nexcept ImportError:\n    tensorflow_addons = None",
        "from tfx import components\ndef add(components):\n    components.append(1)",
        "from tfx.components import SchemaGen\nSchemaGen(stats=1, name='x', output=None)",
        "from tfx.extensions.google_cloud_ai_platform import constants\nconstants.SERVING_ARGS_KEY",
        "import tensorflow as tf\ntf.keras.layers.Dense, tf.io.gfile.glob, tf.estimator.RunConfig",
        "import tensorflow_transform as tft\ntft.scale_to_z_score, tft.TFTransformOutput('x')",
        "import tfx\nfrom tensorflow_transform.tf_metadata import dataset_schema, schema_utils",
        "import tensorflow_transform as tft\ndef preprocessing_fn(inputs):\n    tft.uniques(1)",
        "from tfx_bsl.public import tfxio\ntfxio.TensorFlowDatasetOptions",
        "from tensorflow.core.example import example_pb2\nexample_pb2.Example()",
        "from tfx.components import Trainer\nTrainer(module_file=FOLDER + 'nope.py')",
    ],
)
def test_what_is_fine_is_left_alone(check, source):
    record = check(target="pipeline.py", pipeline=source + PIECE, tfxtras_of_mine="")
    assert (lines(record), record["would_run"]) == ([], True)


def test_what_is_under_an_if_is_told_and_would_run(check, stoker):
    source = (
        "from tfx.extensions.google_cloud_ai_platform.trainer import executor\n"
        "from tfx.dsl.components.base import executor_spec\n"
        "if cloud:\n"
        "    executor_spec.ExecutorClassSpec(executor.GenericExecutor)\n"
    )
    assert check(pipeline=source)["would_run"]
    out = stoker("check", "pipeline.py").out
    assert "refused  pipeline.py:4  if this line is reached: tfx.extensions" in out


def test_a_package_for_the_cloud_may_be_imported_by_what_uses_it_under_an_if(check):
    branch = "if tfx.__version__:\n    kfp.compiler.Compiler()\n"
    record = check(pipeline=f"import kfp\nimport tfx\n{branch}")
    assert record["would_run"]
    (told,) = lines(record, "refused")
    assert told.startswith("refused 4: if this line is reached: kfp.compiler.Compiler is not here.")


def test_a_folder_with_a_runner_for_each_orchestrator_would_run(check):
    record = check(
        local_runner="from tfx import v1 as tfx\nfrom pipelines import taxi\n"
        "tfx.orchestration.LocalDagRunner().run(taxi.make())",
        kubeflow_runner="from kfp import onprem\nfrom tfx import v1 as tfx\n"
        "from pipelines import taxi\nonprem.mount_pvc()\n"
        "tfx.orchestration.experimental.KubeflowDagRunner().run(taxi.make())",
        pipelines__taxi="from tfx.components import CsvExampleGen",
    )
    assert record["would_run"]
    assert len(lines(record, "refused")) == 1
    assert check(target="kubeflow_runner.py")["would_run"] is False


def test_a_name_that_a_version_lacks_is_told_with_the_version_and_the_nearest(check):
    source = "from tfx_bsl.public import tfxio\ntfxio.TensorFlowDatasetOption\n"
    (said,) = lines(check(pipeline=f"{source}import tensorflow as tf\n"), "refused")
    assert said.startswith("refused 2: tfx_bsl.public.tfxio.TensorFlowDatasetOption is not in ")
    assert f"tfx-bsl {version('tfx-bsl')}, which is installed here. Did you mean 'Tens" in said
    (said,) = lines(check(pipeline="import tensorflow as tf\ntf.io.Gone"), "needs")
    assert f"is not in tensorflow {version('tensorflow')}, which" in said
    assert "stoker env create tf-2.15" in said


def test_a_program_that_is_no_part_of_the_pipeline_does_not_count(check):
    record = check(pipeline="import tfx.v1", client="import streamlit_of_tomorrow")
    assert record["would_run"]
    assert "No module named 'streamlit_of_tomorrow'" in lines(record)[0]


def test_modules_in_other_folders_of_a_project_are_no_packages_to_install(check):
    record = check(src__taxi__pipeline="from taxi import features", src__taxi__features="X = 1")
    assert lines(record) == []


def test_data_that_is_not_there_yet_is_told_and_may_still_come(check):
    source = "from tfx.components import CsvExampleGen\nCsvExampleGen(input_base='data')"
    record = check(pipeline=source)

    assert lines(record) == [
        "needs 2: there is no folder data yet: put the data there, unless the code does."
    ]
    assert record["would_run"]


@pytest.mark.parametrize(
    "path",
    [
        "'steps/m.py'",
        "os.path.join(HERE, 'steps', 'm.py')",
        "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'steps/m.py')",
        "str(pathlib.Path(__file__).parent / 'steps' / 'm.py')",
        "f'{HERE}/steps/m.py'",
    ],
)
def test_a_module_file_is_found_however_its_path_is_put_together(check, path):
    source = (
        "import os, pathlib\nfrom tfx.components import Trainer\n"
        f"HERE = os.path.dirname(__file__)\nTrainer(module_file={path})"
    )
    there = check(target="pipeline.py", pipeline=source, steps__m="def run_fn(fn_args): ...")
    missing = check(target="pipeline.py", pipeline=source.replace("m.py", "n.py"))

    assert (there["would_run"], missing["would_run"]) == (True, False)
    assert "steps/n.py" in lines(missing)[0]


def test_a_module_in_another_folder_is_checked_with_the_pipeline(check):
    settings = (
        "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
        "MODULE = os.path.abspath(os.path.join(HERE, '..', 'steps', 'm.py'))"
    )
    source = (
        "import settings\nfrom tfx.components import Trainer\nTrainer(module_file=settings.MODULE)"
    )
    module = "import not_here_1\ndef run_fn(fn_args): ..."
    files = {"app__pipeline": source, "app__settings": settings, "steps__m": module}
    record = check(target="app/pipeline.py", **files)
    assert not record["would_run"]
    assert lines(record, "needs")[0].startswith("needs 1: No module named 'not_here_1'")


def test_a_module_whose_function_is_named_is_checked_with_the_pipeline(check):
    source = (
        "from tfx.components import Trainer\nRUN_FN = 'models.keras.model.run_fn'\n"
        "DATA = 'models.csv'\n\ndef create(run_fn):\n    Trainer(run_fn=run_fn)\n\ncreate(RUN_FN)"
    )
    model = "import not_here_1\n\ndef run_fn(fn_args): ..."
    files = {"pipeline": source, "models__keras__model": model, "models": "import not_here_2"}
    record = check(target="pipeline.py", **files)
    assert not record["would_run"]
    (needed,) = lines(record, "needs")
    assert "not_here_1" in needed


@pytest.mark.parametrize(
    "path",
    [
        "'steps/m.py'",
        "os.path.abspath('steps/m.py')",
        "os.getenv('MY_MODULE', os.path.join('steps', 'm.py'))",
    ],
)
def test_a_module_below_the_current_folder_is_checked_with_a_pipeline_elsewhere(check, path):
    settings = f"import os\nMODULE = {path}"
    source = (
        "import settings\nfrom tfx.components import Trainer\nTrainer(module_file=settings.MODULE)"
    )
    files = {
        "app__pipeline": source,
        "app__settings": settings,
        "steps__m": "import not_here_1\ndef run_fn(fn_args): ...",
    }
    record = check(target="app/pipeline.py", **files)
    assert not record["would_run"]
    assert lines(record, "needs")[0].startswith("needs 1: No module named 'not_here_1'")


@pytest.mark.parametrize(
    ("metric", "advice"),
    [
        ("module='modules.utils', class_name='MyF1'", "metrics of your own classes, like modules."),
        ("class_name='NDCG'", "only TFMA has the metric NDCG"),
        ("class_name='BinaryAcuracy'", "There is no metric 'BinaryAcuracy'"),
    ],
)
def test_a_metric_that_nobody_computes_here_is_told_as_the_run_tells_it(
    check, metric, advice, monkeypatch
):
    monkeypatch.setattr("stoker.evaluation.chosen_engine.tfma_is_installed", lambda: False)
    source = "import tensorflow_model_analysis as tfma\nname = 'AUC'\ntfma.MetricConfig({})"
    record = check(pipeline=source.format(metric))
    assert not record["would_run"]
    assert lines(record, "needs")[0].startswith("needs 3: ")
    assert advice in lines(record, "needs")[0]
    assert check(pipeline=source.format("class_name=name"))["would_run"]
    assert check(pipeline=source.format("class_name=name.title()"))["would_run"]


@pytest.mark.parametrize("folder", ["os.getcwd()", "str(pathlib.Path.cwd())"])
def test_the_working_folder_may_be_that_of_a_project_in_another_folder(check, folder):
    source = (
        "import os, pathlib\nfrom tfx.components import Trainer\n"
        f"Trainer(module_file=os.path.join({folder}, 'steps', 'm.py'))"
    )
    module = {"project__steps__m": "def run_fn(fn_args): ..."}
    assert check(target="project", project__pipeline=source, **module)["would_run"]
    missing = check(target="project", project__pipeline=source.replace("m.py", "n.py"))
    assert lines(missing, "needs") == [
        "needs 3: there is no file steps/n.py: put it there, or give another path."
    ]


def test_a_notebook_is_checked_cell_by_cell_with_the_modules_that_it_writes(check):
    record = check(
        target="taxi.ipynb",
        **{
            "taxi.ipynb": notebook(
                "!pip install --upgrade \\\n  tfx==1.2\n!pip install tensorflow-hub\n"
                "%matplotlib inline",
                "import tensorflow_hub as hub\nfrom tfx import v1 as tfx\n"
                "_module_file = 'taxi_module.py'\nfiles = !ls\ntfx.components?",
                "%%writefile {_module_file}\nimport tensorflow_addons\nimport keras\n"
                "\n\ndef run_fn(fn_args):\n    keras.Model",
                "%%bash\nfor x in *; do echo $x; done",
                "%%skip_for_export\nif True:\n    !ls\n"
                "trainer = tfx.components.Trainer(module_file=_module_file)",
                "tfx.components.ExampleDiff()\nx = 10 \\\n  % 3",
                "print 'Python 2'",
            )
        },
    )
    found = {
        (one["file"], one["cell"], one["line"]): (one["state"], one["message"])
        for one in record["findings"]
        if one["line"]
    }
    assert {place: state for place, (state, _) in found.items()} == {
        ("taxi.ipynb", 1, 1): "differs",
        ("taxi.ipynb:taxi_module.py", None, 1): "needs",
        ("taxi.ipynb", 6, 1): "refused",
        ("taxi.ipynb", 7, 1): "refused",
    }
    assert "leave the line out" in found["taxi.ipynb", 1, 1][1]
    assert "this cell is not Python" in found["taxi.ipynb", 7, 1][1]
    assert record["keras"]["taxi.ipynb:taxi_module.py"]["version"] == 3


def check_cells(check, *cells):
    return check(target="n.ipynb", **{"n.ipynb": notebook(*cells)})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("fairness_indicators", ["may bring another TensorFlow: install it with --no-deps."]),
        ("--no-deps fairness_indicators", []),
        ("'tensorflow-text==2.4.*'", ["may bring another TensorFlow: install it with --no-deps."]),
        ("keras", ["may replace the version that Stoker was tried with: leave the line out."]),
        ("pandas", []),
    ],
)
def test_what_installing_does_to_what_is_installed_is_told(check, arguments, told):
    found = lines(check_cells(check, f"!pip install {arguments}"), "differs")
    assert [one.partition(" may ")[2] for one in found] == [one[4:] for one in told]


@pytest.mark.parametrize(
    ("cell", "place", "command"),
    [
        ("x = 1\n!wget -q {URL}", 2, "wget"),
        ("%%bash\nmkdir data\ncurl -O x.org/x.csv", 3, "curl"),
        ("if True:\n    !git clone https://x.org/x", 2, "git clone"),
        ("!gsutil cp gs://x/x .", 1, "gsutil"),
    ],
)
def test_what_cells_have_the_shell_fetch_is_told_and_may_be_there(check, cell, place, command):
    record = check_cells(check, cell)
    (told,) = lines(record, "needs")

    assert record["would_run"]
    assert told.startswith(f"needs {place}: {command} needs the network")


@pytest.mark.parametrize("cell", ["!ls wget", "!pip install curl", "wget = 1", "!wget --version"])
def test_what_fetches_nothing_is_left_alone(check, cell):
    assert lines(check_cells(check, cell)) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("os.path.join(gen.outputs['examples'].get()[0].uri, 'train')", "Split-train"),
        ("made = gen.outputs['examples'].get()[0]\nos.path.join(made.uri, 'eval/x')", "Split-eval"),
        ("uri = t.outputs.model.get()[0].uri\nos.path.join(uri, 'serving_model_dir')", "Format-"),
    ],
)
def test_paths_in_artifacts_as_older_editions_had_them_are_told(check, path, name):
    record = check(module=f"import os, tfx\n{path}{PIECE}")
    (told,) = lines(record, "needs")

    assert not record["would_run"]
    assert f"called {name}" in told


@pytest.mark.parametrize(
    "path",
    [
        "os.path.join(gen.outputs['examples'].get()[0].uri, 'Split-train')",
        "os.path.join(mine.uri, 'train')",
        "os.path.join('data', 'train')",
    ],
)
def test_other_paths_of_splits_are_left_alone(check, path):
    assert lines(check(module=f"import os, tfx\n{path}{PIECE}")) == []


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("model.save('out/model')", "saves to the folder out/model"),
        ("model.save(HERE / 'model')", "saves to the folder model"),
        ("model.save(path, save_format='tf')", "uses save_format="),
        ("tf.keras.layers.DenseFeatures([])", "uses tf.keras.layers.DenseFeatures"),
        ("model.compile(metrics='accuracy')", "uses compile(metrics=…) with a text"),
    ],
)
def test_what_only_keras_2_does_is_told_where_cells_do_it(check, line, sign):
    cells = ("import tensorflow as tf", line, PIECE)
    (told,) = lines(check_cells(check, *cells), "needs")

    assert told.startswith(f"needs 1: {sign}, which is of Keras 2")
    assert lines(check_cells(check, "%env TF_USE_LEGACY_KERAS=1", *cells)) == []
    assert lines(check_cells(check, "import tensorflow_transform as tft", *cells)) == []
    assert lines(check_cells(check, "import tensorflow_data_validation as tfdv", *cells)) == []
    assert lines(check_cells(check, "from tfx import v1", *cells)) == []
    assert lines(check_cells(check, "import tfx, keras", *cells), "needs") == [told]


@pytest.mark.parametrize("line", ["model.save('m.keras')", "figure.save('x')", "model.save(path)"])
def test_what_both_keras_do_is_left_alone(check, line):
    assert lines(check_cells(check, "import tensorflow as tf", line, PIECE)) == []


def test_a_file_that_the_code_writes_itself_is_not_missed(check):
    write = "import tensorflow_data_validation as tfdv\nPATH = 'out/schema.pbtxt'\n"
    read = "from tfx.components import ImportSchemaGen\nImportSchemaGen(schema_file=PATH)"

    assert not check_cells(check, write, read)["would_run"]
    assert check_cells(check, f"{write}tfdv.write_schema_text(0, PATH)", read)["would_run"]


def test_places_in_notebooks_are_shown_by_cell(check, stoker):
    check(**{"n.ipynb": notebook("x = 1", "\nfrom tfx.components import ExampleDiff")})
    assert "refused  n.ipynb:cell 2:2" in stoker("check", "n.ipynb").out


def test_what_is_no_notebook_is_said_to_be_none(stoker, here):
    (here / "n.ipynb").write_text("{}")
    result = stoker("check", "n.ipynb")
    assert result.code == 1
    assert "n.ipynb is not a notebook of version 4" in result.err


def test_the_users_code_is_never_imported(check):
    dangerous = "import pathlib\npathlib.Path('ran').touch()\n"
    record = check(
        target=".",
        pipeline=f"{dangerous}import steps\nMODULE = 'module.py'",
        steps=dangerous,
        module=dangerous,
        package____init__=dangerous,
    )
    assert len(record["files"]) == 4
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "path", ["examples/penguin/pipeline.py", "examples/taxi_blessed", "examples/notebook"]
)
def test_our_own_examples_would_run(stoker, monkeypatch, path):
    monkeypatch.chdir(REPOSITORY)
    result = stoker("check", path, "--json")
    assert [one for one in result.record["findings"] if one["state"] == "refused"] == []
    assert result.code == 0


def test_the_keras_of_each_module_is_told(stoker, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    result = stoker("check", "examples/penguin/pipeline.py", "--json")
    keras = result.record["keras"]["examples/penguin/module.py"]
    assert keras["version"] == 2
    assert "uses tf.keras" in keras["reason"]


def test_a_pipeline_is_checked_with_the_module_that_it_names(check, stoker):
    check(
        target="pipeline.py",
        pipeline="import steps\nMODULE = 'module.py'\n",
        steps="from tfx.components import ExampleDiff\n",
        module="import keras\n\ndef run_fn(fn_args):\n    raise SystemExit\n",
    )
    result = stoker("check", "pipeline.py")
    assert result.code == 1
    assert "refused  steps.py:1  tfx.components.ExampleDiff" in result.out
    assert "runs     module.py   Keras 3, because module.py:1 imports keras" in result.out
    assert "Files read: 3. It would not run: see `needs` and `refused`." in result.out


def test_a_path_that_is_not_there_is_wrong_usage(stoker, here):
    result = stoker("check", "nope.py")
    assert result.code == 2
    assert "'nope.py' does not exist" in result.err


STEPS = """
import tensorflow_model_analysis as tfma
from stoker import Workers
from tfx.v1.components import CsvExampleGen, Trainer

def make(data_root, module_file):
    gen = CsvExampleGen(input_base=data_root)
    Trainer(examples=gen.outputs["examples"], module_file=module_file)
    Trainer(examples=gen.outputs["examples"], module_file="late.py", python="tf-9.9")
    Workers(2, gpus_each=99)
    tfma.ModelSpec(label_key="tipp")
    tfma.SlicingSpec(feature_keys=["citty"])

make(data_root="data", module_file="training.py")
"""


def test_what_steps_are_given_and_is_not_there(check, here):
    (here / "data").mkdir()
    (here / "data" / "rows.csv").write_text("age,city,tip\n1,a,0\n")
    record = check(
        "pipeline.py", pipeline=STEPS, training="def rum_fn(fn_args): ...", late="run_fn = 1"
    )

    function, python, gpus, label, slices = lines(record, "needs")
    assert "8: " in function
    assert "training.py defines no run_fn or trainer_fn; it has rum_fn" in function
    assert "9: 'tf-9.9' is neither an environment nor a Python" in python
    assert "10: Workers(2, gpus_each=99) needs 198 GPUs" in gpus
    assert "11: label_key='tipp' is no column of the data. Did you mean 'tip'?" in label
    assert "12: the slice by 'citty' is no column" in slices
    assert not record["would_run"]


@pytest.mark.parametrize(
    ("examples", "known"),
    [
        ('gen.outputs["examples"]', True),
        ("gen.outputs.examples", True),
        ('transform.outputs["transformed_examples"]', False),
        ("transformed", False),
    ],
)
def test_labels_are_looked_for_in_the_data_only_if_it_is_what_is_evaluated(
    check, here, examples, known
):
    (here / "data").mkdir()
    (here / "data" / "rows.csv").write_text("age,city,tip\n1,a,0\n")
    text = "import tensorflow_model_analysis as tfma\n"
    text += "from tfx.v1.components import CsvExampleGen, Evaluator\n"
    text += "gen = CsvExampleGen('data')\ntransform = transformed = gen\n"
    text += "tfma.ModelSpec(label_key='tip_xf')\ntfma.SlicingSpec(feature_keys=['city_xf'])\n"
    record = check(pipeline=f"{text}Evaluator(examples={examples})")

    assert [line.split(":")[0] for line in lines(record, "needs")] == ["needs 5", "needs 6"] * known
    assert record["would_run"] == (not known)


def test_a_folder_without_data_is_told_and_may_still_be_filled(check, here):
    (here / "data").mkdir()
    record = check(pipeline="from tfx.v1.components import CsvExampleGen\nCsvExampleGen('data')")
    assert "there is no file in" in lines(record, "needs")[0]
    assert record["would_run"]


def test_buckets_are_refused_wherever_they_are_named(check):
    text = "from tfx.v1 import dsl, components\n"
    text += "components.CsvExampleGen('no://b/data')\ndsl.Pipeline('p', 'no://b/root')"
    first, second = lines(check(pipeline=text), "refused")
    assert first.startswith("refused 2: no://b/data cannot be reached")
    assert second.startswith("refused 3: no://b/root cannot be reached")


@pytest.mark.parametrize(
    "source",
    [
        "from tensorflow_transform.tf_metadata import dataset_schema",
        "from tfx_bsl.cc.tfx_bsl_extension.coders import RecordBatchToExamples",
        "import tensorflow_transform.tf_metadata.dataset_schema",
        "import tensorflow_transform as tft; tft.string_to_int",
        "import tensorflow as tf, tensorflow_transform as tft; tf.Session, tf.FixedLenFeature",
        "import tensorflow_data_validation as tfdv, tensorflow as tf; tf.Session",
    ],
)
def test_names_that_a_library_of_tfx_s_brings_back_are_fine_without_tfx(check, source):
    assert check(target="script.py", script=source)["would_run"]


def test_a_script_of_tensorflow_1_alone_is_told_to_import_tfx(check):
    record = check(target="script.py", script="import tensorflow as tf\ntf.Session")
    assert not record["would_run"]
    assert lines(record, "needs") == [
        "needs 2: tensorflow.Session is there only after tfx: put `import tfx` before this line."
    ]


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ("x = tf.constant(1)\nwith tf.Session() as s:\n    print(s.run(x))", True),
        ("tf.compat.v1.disable_eager_execution()\nx = 1\nwith tf.Session() as s: s.run(x)", False),
        ("with tf.Session() as s:\n    x = tf.constant(1)\n    s.run(x)", False),
        ("def make(): ...\nwith tf.Session() as s: s.run(make())", False),
        ("x = 1\nwith open(x) as s: s.run(x)", False),
    ],
)
def test_a_session_for_what_tensorflow_2_has_computed_is_told(check, more, is_told):
    record = check(program=f"import tensorflow as tf, tfx\n{more}")
    told = ["a Session runs a graph, and TensorFlow 2 ran the lin" in one for one in lines(record)]
    assert told == [True] * is_told
    assert record["would_run"] is not is_told


@pytest.mark.parametrize(
    "body",
    [
        "utils.MARKED = True",
        "if os.name == 'nt':\n        return utils.nothing",
        "if os.name != 'nt':\n        return\n    from tfx.utils import nothing",
    ],
)
def test_what_is_given_a_value_or_may_not_be_reached_is_no_reason_to_refuse(check, body):
    start = "import os\nfrom tfx.utils import io_utils as utils\n"
    assert check(program=f"{start}def f():\n    {body}\nf()")["would_run"]
    assert not check(program=f"{start}def f():\n    print(utils.nothing)\nf()")["would_run"]


def test_what_the_first_schemas_do_not_have_again_is_told(check):
    start = "from tensorflow_transform.tf_metadata import dataset_schema as s\n"
    assert check(program=f"{start}s.ColumnSchema, s.Schema, s.from_feature_spec")["would_run"]
    (told,) = lines(check(program=f"{start}s.IntDomain"))
    assert "tf_metadata.dataset_schema.IntDomain is not in tensorflow-transform" in told


def test_names_of_tensorflow_1_are_fine_after_tfx_and_in_modules(check):
    late = "import tensorflow as tf\nimport tfx\ntf.logging.set_verbosity(tf.logging.INFO)"
    early = "import tensorflow as tf\ntf.logging.info('x')\ndef f():\n    tf.Session\nimport tfx"
    module = "import tensorflow as tf\ndef run_fn(fn_args):\n    tf.train.AdamOptimizer, tf.gfile"
    assert check(target="late.py", late=late)["would_run"]
    assert check(target="module.py", module=module)["would_run"]
    (line,) = lines(check(target="early.py", early=early), "needs")
    assert line.startswith("needs 2: tensorflow.logging is there only after tfx")


def test_a_name_that_comes_back_is_fine_in_what_a_pipeline_names(check):
    record = check(
        target="pipeline.py",
        pipeline="from tfx.components import Transform\nTransform(module_file='module.py')",
        module="import features\ndef preprocessing_fn(inputs):\n    return features.make(inputs)",
        features="import tensorflow_transform as tft\ndef make(x):\n    return tft.uniques(x)",
    )
    assert (lines(record), record["would_run"]) == ([], True)


KERAS_2 = "import tensorflow as tf\nx = tf.keras.Input((1,))\ny = tf.reshape(x, [-1])\n"


def test_a_program_is_told_what_of_it_only_keras_2_runs(check, monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    assert lines(check(program=KERAS_2), "needs") == [
        "needs 3: calls tf.reshape on a Keras input, which is of Keras 2, and it runs with "
        "Keras 3: set TF_USE_LEGACY_KERAS=1 for it."
    ]
    assert check(program=f"import tensorflow_transform as tft\n{KERAS_2}")["would_run"]
    assert check(program=f"import tensorflow_model_analysis as tfma\n{KERAS_2}")["would_run"]
    (told,) = lines(check(program=f"import keras, tfx\n{KERAS_2}"), "needs")
    assert "tf.reshape on a Keras input" in told
    mixed = "import tensorflow_transform as tft\nfrom tensorflow.keras import layers\n"
    assert check(program=f"{mixed}{KERAS_2}")["would_run"]
    assert check(program=f"import os; os.environ['TF_USE_LEGACY_KERAS'] = '1'\n{KERAS_2}")[
        "would_run"
    ]


def test_a_module_whose_keras_stoker_chooses_is_not_told(check, monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    assert check(module=f"{KERAS_2}def run_fn(fn_args): ...")["would_run"]


def test_csv_files_with_other_headers_are_told(check, here):
    (here / "data").mkdir()
    (here / "data" / "a.csv").write_text("age,tip\n1,0\n")
    (here / "data" / "b.csv").write_text("tip,age\n1,0\n")
    text = "from tfx import v1 as tfx\ntfx.components.CsvExampleGen(input_base='data')\n"
    record = check("pipeline.py", pipeline=text)
    (told,) = lines(record, "needs")
    assert "b.csv has the columns ['tip', 'age'], but" in told
    assert not record["would_run"]
    (here / "data" / "b.csv").write_text("age,tip\n1,0\n")
    assert check("pipeline.py", pipeline=text)["would_run"]


@pytest.mark.parametrize(
    ("source", "said", "would_run"),
    [
        ("steps = [example_gen]", "3: example_gen has no value in this file. Import it, or", False),
        ("def run_fn(args):\n  x = arg.y", "4: arg has no value in this file.", False),
        ("def other():\n  x = args", "4: if this line is reached: args has no value", True),
        ("if tfx.x:\n  y = z", "4: if this line is reached: z has no value", True),
    ],
)
def test_names_without_a_value_are_told(check, source, said, would_run):
    record = check("module.py", module=f"from tfx import v1 as tfx\ntfx = [tfx]\n{source}\n")
    (told,) = lines(record, "refused")
    assert told.startswith(f"refused {said}")
    assert record["would_run"] is would_run


def test_a_file_that_cells_write_piece_by_piece_is_one(check):
    cells = ["%%writefile m.py\nimport tfx\nX = 1", "%%writefile -a m.py\nprint(X)"]
    assert lines(check("n.ipynb", **{"n.ipynb": notebook(*cells)}), "refused") == []


@pytest.mark.parametrize(
    "line",
    [
        "tfdv.generate_statistics_from_csv('rows/train.csv')",
        "tfdv.generate_statistics_from_csv(data_location=os.path.join('rows', 'train.csv'))",
        "tfdv.load_schema_text('rows/train.csv')",
        "pd.read_csv('rows/train.csv')",
    ],
)
def test_data_that_a_program_reads_and_is_not_there_is_told(check, here, line):
    start = "import os\nimport pandas as pd\nimport tensorflow_data_validation as tfdv\n"
    record = check(program=start + line)
    assert lines(record, "needs") == [
        "needs 4: there is no file rows/train.csv: put it there, unless the code does."
    ]
    assert not record["would_run"]
    fetch = "from urllib.request import urlretrieve\nurlretrieve(input(), input())"
    fetches = f"{start}{fetch}\n{line}"
    assert check(program=fetches)["would_run"]
    assert check(program=f"{start}def later():\n    {line}")["would_run"]
    assert lines(check(program=f"{start}frame.to_csv('rows/train.csv')\n{line}"), "needs") == []
    (here / "rows").mkdir()
    (here / "rows" / "train.csv").write_text("a\n1\n")
    assert lines(check(program=start + line), "needs") == []


def test_a_pattern_of_files_is_there_if_one_is(check, here):
    source = (
        "import tensorflow_data_validation as tfdv\ntfdv.generate_statistics_from_csv('d/*.csv')"
    )
    assert not check(program=source)["would_run"]
    (here / "d").mkdir()
    (here / "d" / "a.csv").write_text("a\n1\n")
    assert check(program=source)["would_run"]


def test_a_module_that_may_be_where_sys_path_looks_is_no_reason_to_refuse(check):
    text = "import os, sys\nsys.path.append('/'.join(os.getcwd().split(os.sep)[:-3]))\n"
    record = check_cells(check, text + "import tfx\nfrom helpers_of_mine import *")
    (told,) = lines(record, "needs")
    assert told.endswith(
        "helpers_of_mine is not here, unless it is where sys.path is made to look."
    )
    assert record["would_run"]
    assert not check_cells(check, "import tfx\nfrom helpers_of_mine import *")["would_run"]


def test_a_notebook_is_read_with_the_modules_of_a_folder_that_it_adds_to_sys_path(check, here):
    (here / "notebooks").mkdir()
    cell = "import sys, tfx\nsys.path.append('../scripts')\nimport mine"
    (here / "notebooks" / "a.ipynb").write_text(notebook(cell))
    record = check("notebooks/a.ipynb", scripts__mine="from tfx.proto import nothing_pb2")
    (told,) = lines(record, "needs", "refused")
    assert told.startswith("refused 1: ")
    assert "nothing_pb2" in told


def test_a_name_that_is_missing_is_told_where_any_error_is_caught(check):
    start = "from tensorflow_data_validation.utils import schema_util\n"
    use = f"{start}try:\n    schema_util.nothing(1)\n"
    record = check(program=f"{use}except Exception as error:\n    print(error)")
    (told,) = lines(record, "refused")
    assert told.startswith("refused 3: if this line is reached: ")
    assert record["would_run"]
    assert not lines(check(program=f"{use}except AttributeError:\n    pass"), "refused")
    either = "import tfx\ntry:\n    from tfx.proto import nothing_pb2\nexcept Exception:\n    pass"
    assert not lines(check(program=either), "refused")


def test_append_of_pandas_1_is_fine_after_a_library_of_tfx_s(check, monkeypatch):
    line = "frame = frame.append(rows, ignore_index=True)"
    start = "import pandas as pd\nframe, rows = pd.DataFrame(), []\n"
    assert check(program=f"import tensorflow_data_validation\n{start}{line}")["would_run"]
    (told,) = lines(check(program=start + line), "needs")
    assert "DataFrame.append is there only after tfx: put `import tfx` before this line." in told
    monkeypatch.setattr(Patch, "installed_version", lambda _: "3.0.1")
    (told,) = lines(check(program=f"import tfx\n{start}{line}"), "needs")
    assert "DataFrame.append is of pandas 1: write pd.concat([frame, more], ig" in told


def test_what_pandas_1_had_is_told(check):
    reading = "import tfx\npd.read_csv(path, error_bad_lines=False)"
    (told,) = lines(check_cells(check, "import pandas as pd", reading), "needs")
    assert "write on_bad_lines='skip'." in told
    assert lines(check_cells(check, "rows.append(1)\npd.read_csv(path, sep=';')"), "needs") == []


UNLISTED = """
from tfx.components import Resolver, SchemaGen, StatisticsGen, Trainer
from tfx.dsl import Pipeline
gen = find_gen()
statistics = StatisticsGen(examples=gen.outputs["examples"])
schema = SchemaGen(statistics=statistics.outputs["statistics"])
"""


@pytest.mark.parametrize(
    "components",
    ["Pipeline('p', 'out', components=[gen, schema])", "s = [gen, schema]\nPipeline(components=s)"],
)
def test_a_step_that_others_need_and_the_pipeline_lacks_is_told(check, components):
    record = check("p.py", p=UNLISTED + components + PIECE)
    assert not record["would_run"]
    (said,) = (one for one in lines(record) if "components=" in one)
    assert "schema needs statistics, which is not in the pipeline" in said


@pytest.mark.parametrize(
    "components",
    [
        "Pipeline('p', 'out', components=[gen, statistics, schema])",
        "s = [gen, schema]\ns.append(statistics)\nPipeline(components=s)",
        "s = [gen, schema]\ns += [statistics]\nPipeline(components=s)",
        "Pipeline('p', 'out', components=[gen, schema, *others()])",
        "trainer = Trainer(schema=schema.outputs['schema'])\nPipeline(components=[gen, trainer])",
        "found = Resolver(model=schema.outputs['schema'])\nPipeline(components=[gen, found])",
    ],
)
def test_a_list_that_may_have_every_step_is_no_reason_to_refuse(check, components):
    record = check("p.py", p=UNLISTED + components + PIECE)
    assert not [one for one in lines(record) if "not in the pipeline" in one]
