# SPDX-License-Identifier: Apache-2.0
"""What the text of a module says that it will fetch from the network."""

import ast
import hashlib

import pytest

from stoker.user_code.downloads import DownloadReader


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """A machine on which no library has fetched anything."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("HF_HOME", "NLTK_DATA", "TFHUB_CACHE_DIR", "TFDS_DATA_DIR", "KERAS_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*lines):
    """Each download of a module: the server, and what is said."""
    found = [one for _, one in DownloadReader(ast.parse("\n".join(lines))).find_all()]
    return [(one.server, one.message) for one in found]


HUB = "https://tfhub.dev/google/nnlm/2"


@pytest.mark.parametrize(
    ("lines", "server"),
    [
        (["import nltk", "nltk.download('punkt')"], "raw.githubusercontent.com"),
        (["from nltk import download", "download('punkt')"], "raw.githubusercontent.com"),
        (["AutoTokenizer.from_pretrained('bert-base-uncased')"], "huggingface.co"),
        (
            ["NAME = 'google/bert'", "transformers.AutoModel.from_pretrained(NAME)"],
            "huggingface.co",
        ),
        (["SentenceTransformer('all-MiniLM-L6-v2')"], "huggingface.co"),
        (["from datasets import load_dataset", "load_dataset('imdb')"], "huggingface.co"),
        (["keras_hub.models.Backbone.from_preset('bert_tiny_en')"], "www.kaggle.com"),
        (["keras_nlp.models.Backbone.from_preset('hf://google/x')"], "huggingface.co"),
        (["import kagglehub as k", "k.dataset_download('a/b')"], "www.kaggle.com"),
        (["kaggle.api.dataset_download_files('a/b', path='data')"], "www.kaggle.com"),
        (["import gdown", "gdown.download(id='123', output='x.csv')"], "drive.google.com"),
        (["import tensorflow_datasets as t", "t.load('mnist')"], "storage.googleapis.com"),
        (["import tensorflow_hub as h", f"h.load({HUB!r})"], "tfhub.dev"),
        (["from tensorflow_hub import KerasLayer as L", f"L({HUB!r})"], "tfhub.dev"),
        (["BASE = 'https://tfhub.dev/'", "hub.load(BASE + 'google/nnlm')"], "tfhub.dev"),
        (["N = 'nnlm'", "hub.load(f'https://tfhub.dev/{N}')"], "tfhub.dev"),
        (["hub.load(os.path.join('https://tfhub.dev', 'nnlm'))"], "tfhub.dev"),
        (["def get(url):", "    return hub.load(url)", f"get({HUB!r})"], "tfhub.dev"),
        (["tf.keras.utils.get_file('x.tgz', origin='https://x.org/x.tgz')"], "x.org"),
        (["from sklearn.datasets import fetch_openml", "fetch_openml('adult')"], "api.openml.org"),
        (
            ["from sklearn import datasets", "datasets.fetch_california_housing()"],
            "ndownloader.figshare.com",
        ),
        (["import seaborn as sns", "sns.load_dataset('iris')"], "raw.githubusercontent.com"),
        (
            ["from tensorflow.keras.applications import VGG16", "VGG16(include_top=False)"],
            "storage.googleapis.com",
        ),
        (
            ["from keras.applications.resnet50 import ResNet50", "ResNet50()"],
            "storage.googleapis.com",
        ),
        (
            ["from tensorflow.keras.datasets import mnist", "mnist.load_data()"],
            "storage.googleapis.com",
        ),
    ],
)
def test_what_libraries_fetch_is_told_with_the_server_that_is_asked(lines, server):
    (told,) = read(*lines)
    assert told[0] == server
    assert "first" in told[1]


@pytest.mark.parametrize(
    ("lines", "server"),
    [
        (["import requests", "requests.get('https://x.org/v1/models')"], "x.org"),
        (["from requests import post", "post('https://x.org/v1', json={})"], "x.org"),
        (["from google.cloud import storage", "storage.Client()"], "storage.googleapis.com"),
        (["from google.cloud import bigquery as b", "b.Client('p')"], "bigquery.googleapis.com"),
    ],
)
def test_what_asks_a_server_is_told(lines, server):
    ((asked, message),) = read(*lines)
    assert asked == server
    assert " asks " in message


@pytest.mark.parametrize(
    "lines",
    [
        ["AutoModel.from_pretrained('./model')"],
        ["AutoModel.from_pretrained('/models/bert')"],
        ["AutoModel.from_pretrained('bert', local_files_only=True)"],
        ["model.save_pretrained('mine')", "AutoModel.from_pretrained('mine')"],
        ["AutoModel.from_pretrained(given)"],
        ["def build(name):", "  AutoModel.from_pretrained(name)", "name = 'bert'"],
        ["from datasets import load_dataset", "load_dataset('csv', data_files='x.csv')"],
        ["tfds.load('mnist', download=False)"],
        ["import requests", "requests.get('http://localhost:8501/v1/models/m')"],
        ["from applications import x", "x.run()"],
        ["from tensorflow.keras.applications.vgg16 import preprocess_input as p", "p(x)"],
        ["from mine import datasets", "datasets.fetch_rows()"],
    ],
)
def test_what_needs_no_network_or_is_not_known_is_not_told(lines):
    assert read(*lines) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (".cache/huggingface/hub/models--google--bert", "A.from_pretrained('google/bert')"),
        ("mine/models--bert", "A.from_pretrained('bert', cache_dir='mine')"),
        ("bert", "A.from_pretrained('bert')"),
        ("nltk_data/corpora/stopwords", "nltk.download('stopwords')"),
        ("tensorflow_datasets/mnist", "tfds.load('mnist:3.*.*')"),
        ("here/imdb_reviews", "tfds.load('imdb_reviews/plain_text', data_dir='here')"),
        (".keras/datasets/x.tgz", "get_file('x.tgz', 'https://x.org/x.tgz')"),
        (".keras/datasets/y.tgz", "get_file(origin='https://x.org/y.tgz')"),
        (".cache/kagglehub/datasets/a/b", "kagglehub.dataset_download('a/b')"),
        (".cache/seaborn/iris.csv", "sns.load_dataset('iris')"),
    ],
)
def test_what_was_fetched_before_is_not_told(home, path, line):
    assert len(read(line)) == 1
    (home / path).mkdir(parents=True)
    assert read(line) == []


def test_a_cache_is_looked_for_where_the_module_says_that_it_is(home):
    digest = hashlib.sha1(HUB.encode()).hexdigest()
    (home / "kept" / digest).mkdir(parents=True)
    assert len(read(f"hub.load({HUB!r})")) == 1
    assert read("os.environ['TFHUB_CACHE_DIR'] = 'kept'", f"hub.load({HUB!r})") == []


def test_what_goes_on_without_its_data_is_known():
    tree = ast.parse("nltk.download('punkt')\nA.from_pretrained('bert')")
    found = {one.line: one.goes_on for _, one in DownloadReader(tree).find_all()}
    assert found == {1: True, 2: False}


def test_data_that_may_be_anywhere_is_told_without_a_server():
    ((server, message),) = read("tfds.load('mnist', data_dir=somewhere())")
    assert server is None
    assert "prepare it there first" in message
