# SPDX-License-Identifier: Apache-2.0
"""What a user's code fetches from the network when it runs, which is after the steps before it.

To add a function that fetches something: a line in `_KINDS`, with a method of `_Call` that says
what it asks which server for; and where its library keeps it, in `fetched_before.py`.
"""

import ast
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from stoker.user_code.fetched_before import Caches
from stoker.user_code.texts import Texts

_GOOGLE, _HUGGING_FACE, _KAGGLE = "storage.googleapis.com", "huggingface.co", "www.kaggle.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
"""A name of Hugging Face's: of an owner's repository, or of one without."""
_LOCAL_FORMATS = frozenset({"arrow", "csv", "imagefolder", "json", "parquet", "text"})
"""What `load_dataset` reads from files that it is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One call that needs the network."""

    line: int
    message: str
    """What to know about it."""
    server: str | None = None
    """Which server it asks, where the text tells."""
    goes_on: bool = False
    """Whether the call itself does not fail where it fetches nothing."""


class DownloadReader:
    """Reads the calls of one module."""

    def __init__(self, tree: ast.Module) -> None:
        self._imports = dict(_list_imports(tree))
        self._texts = Texts(tree)
        self._tree = tree

    def find_all(self) -> Iterator[tuple[ast.Call, Download]]:
        """The calls of the module that fetch something."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and (found := self.read(node)):
                yield node, found

    def read(self, node: ast.Call) -> Download | None:
        """What a call fetches; None for one that needs no network, or has what it would fetch."""
        name = self._name_in_full(node.func)
        for pattern, read in _KINDS:
            if pattern.search(name):
                call = _Call(node, name, self._texts, self._caches, self._saved)
                return read(call)
        return None

    @cached_property
    def _caches(self) -> Caches:
        return Caches(dict(_list_environ(self._tree, self._texts)))

    @cached_property
    def _saved(self) -> frozenset[str]:
        """The folders that the module itself puts models and tokenizers into."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        saving = [call for call in calls if ast.unparse(call.func).endswith(".save_pretrained")]
        return frozenset(
            text for call in saving for text in map(self._texts.find, call.args) if text
        )

    def _name_in_full(self, function: ast.expr) -> str:
        """What is called, from the package that it was imported from."""
        first, dot, rest = ast.unparse(function).partition(".")
        return f"{self._imports.get(first, first)}{dot}{rest}"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that may fetch something: each method says what one kind of them does."""

    node: ast.Call
    full_name: str
    texts: Texts
    caches: Caches
    saved: frozenset[str]

    def read_weights(self) -> Download | None:
        if self._is_without_weights() or self.caches.has_of_keras("models", self._last_name):
            return None
        return self._say("downloads its weights, unless ~/.keras/models has them", "them", _GOOGLE)

    def read_keras_dataset(self) -> Download | None:
        if self.caches.has_of_keras("datasets", self.full_name.split(".")[-2]):
            return None
        return self._say("downloads its data, unless ~/.keras/datasets has it", "it", _GOOGLE)

    def read_keras_file(self) -> Download | None:
        address, home = self._address, self._text(None, "cache_dir")
        name = self._text(0, "fname") or (address or "").rpartition("/")[2]
        kind = self._text(None, "cache_subdir") or "datasets"
        is_kept = bool(name) and self.caches.has_of_keras(kind, os.path.basename(name), home)
        return None if is_kept else self.read_address()

    def read_hub(self) -> Download | None:
        address = self._address
        if address is None or self.caches.has_of_hub(address):
            return None
        host = urlsplit(address).hostname
        return self._say("downloads a model", "it", host, "name its folder or TFHUB_CACHE_DIR")

    def read_tfds(self) -> Download | None:
        name, folder = self._text(0, "name"), self._text(None, "data_dir")
        is_known = name is not None and (folder is not None or self._find(None, "data_dir") is None)
        if self._is("download", False) or (
            is_known and name and self.caches.has_of_tfds(name, folder)
        ):
            return None
        message = (
            f"{self._name} downloads its data, unless its data_dir has it: prepare it there first."
        )
        return self._tell(message, _GOOGLE if is_known else None)

    def read_address(self) -> Download | None:
        address = self._address
        host = urlsplit(address).hostname if address else None
        if host is None or host in ("localhost", "127.0.0.1", "0.0.0.0", "::1"):
            return None
        message = f"{self._name} downloads {address}: fetch it first, and name the file instead."
        return self._tell(message, host)

    def read_request(self) -> Download | None:
        found = self.read_address()
        message = f"{self._name} asks {self._address}: leave the line out, if it is not needed."
        return self._tell(message, found.server) if found else None

    def read_cloud(self) -> Download | None:
        service = self.full_name.split(".")[2]
        if service == "storage" and os.environ.get("STORAGE_EMULATOR_HOST"):
            return None
        message = f"{self._name} asks Google Cloud: copy what it reads, and name the files instead."
        return self._tell(message, f"{service}.googleapis.com")

    def read_retrieval(self) -> Download | None:
        message = "urlretrieve needs the network: put the file there first, and leave the line out."
        return self._tell(message, urlsplit(self._address or "").hostname)

    def read_drive(self) -> Download | None:
        host = urlsplit(self._address or "").hostname or "drive.google.com"
        return self._say("downloads a file", "it", host, "name the file instead")

    def read_hugging_face(self, kind: str = "models") -> Download | None:
        name, folder = self._text(0), self._text(None, "cache_dir")
        is_here = name is not None and (os.path.exists(name) or name in self.saved)
        if name is None or is_here or not _REPOSITORY.fullmatch(name):
            return None
        if self._is("local_files_only", True):
            return None
        if self.caches.has_of_hugging_face(kind, name, folder):
            return None
        move = "name its folder or HF_HOME"
        return self._say(f"downloads {name}", "it", _HUGGING_FACE, move)

    def read_hugging_face_dataset(self) -> Download | None:
        is_of_files = self._text(0, "path") in _LOCAL_FORMATS and self._address is None
        return None if is_of_files else self.read_hugging_face("datasets")

    def read_preset(self) -> Download | None:
        name = self._text(0, "preset")
        if (
            name is None
            or os.path.exists(name)
            or self.caches.has_of_kaggle(os.path.basename(name))
        ):
            return None
        server = _HUGGING_FACE if name.startswith("hf://") else _KAGGLE
        return self._say(f"downloads {name}", "it", server, "name its folder instead")

    def read_kaggle(self) -> Download | None:
        name = self._text(0)
        if name and self.caches.has_of_kaggle(name):
            return None
        what = f"downloads {name}" if name else "downloads files"
        return self._say(f"{what} of Kaggle's", "them", _KAGGLE, "leave the line out")

    def read_nltk(self) -> Download | None:
        name = self._text(0, "info_or_id")
        if name is None or self.caches.has_of_nltk(name):
            return None
        message = f"{self._name} downloads {name}, unless nltk_data has it: fetch it first."
        return self._tell(message, "raw.githubusercontent.com", goes_on=True)

    def read_sklearn(self) -> Download | None:
        is_kept = self.caches.has_of_sklearn(self._text(None, "data_home"))
        server = "api.openml.org" if "openml" in self._name else "ndownloader.figshare.com"
        what = "downloads its data, unless ~/scikit_learn_data has it"
        return self._say(what, "it", None if is_kept else server)

    def read_seaborn(self) -> Download | None:
        name = self._text(0, "name")
        if name is None or self.caches.has_of_seaborn(name):
            return None
        move = "read it as a CSV file instead"
        return self._say(f"downloads {name}", "it", "raw.githubusercontent.com", move)

    @property
    def _name(self) -> str:
        return ast.unparse(self.node.func)

    @property
    def _last_name(self) -> str:
        return self.full_name.split(".")[-1]

    @property
    def _address(self) -> str | None:
        """The URL among the arguments, or one that they are names of."""
        given = (*self.node.args, *(keyword.value for keyword in self.node.keywords))
        texts = filter(None, map(self.texts.find, given))
        return next((text for text in texts if text.startswith(("http://", "https://"))), None)

    def _find(self, position: int | None, keyword: str | None = None) -> ast.expr | None:
        if position is not None and position < len(self.node.args):
            return self.node.args[position]
        return next(
            (one.value for one in self.node.keywords if keyword and one.arg == keyword), None
        )

    def _text(self, position: int | None, keyword: str | None = None) -> str | None:
        return self.texts.find(self._find(position, keyword))

    def _is(self, keyword: str, wanted: bool) -> bool:
        value = self._find(None, keyword)
        return isinstance(value, ast.Constant) and value.value is wanted

    def _is_without_weights(self) -> bool:
        """Whether the weights are the model's own, at random, or from a file that is named."""
        if any(isinstance(one, ast.Constant) and one.value is None for one in self.node.args):
            return True  # the second of most models, the fourth of others
        weights = self._find(None, "weights")
        is_imagenet = isinstance(weights, ast.Constant) and weights.value == "imagenet"
        return weights is not None and not is_imagenet

    def _say(self, what: str, it: str, server: str | None, move: str = "") -> Download:
        then = f", and {move}" if move else ""
        return self._tell(f"{self._name} {what}: fetch {it} first{then}.", server)

    def _tell(self, message: str, server: str | None, *, goes_on: bool = False) -> Download:
        return Download(line=self.node.lineno, message=message, server=server, goes_on=goes_on)


_KINDS: tuple[tuple[re.Pattern[str], Callable[[_Call], Download | None]], ...] = (
    (re.compile(r"(^|\.)applications\.(\w+\.)?[A-Z]\w+$"), _Call.read_weights),
    (re.compile(r"(^|\.)datasets\.\w+\.load_data$"), _Call.read_keras_dataset),
    (re.compile(r"(^|\.)get_file$"), _Call.read_keras_file),
    (re.compile(r"(^|\.)(KerasLayer|(tensorflow_)?hub\.(load|resolve|Module))$"), _Call.read_hub),
    (re.compile(r"(^|\.)(tfds|tensorflow_datasets)\.(load|builder)$"), _Call.read_tfds),
    (re.compile(r"(^|\.)urlretrieve$"), _Call.read_retrieval),
    (re.compile(r"(^|\.)read_(csv|excel|json|parquet|table)$"), _Call.read_address),
    (re.compile(r"(^|\.)(urlopen|wget\.download)$"), _Call.read_address),
    (re.compile(r"^requests\.(get|post)$"), _Call.read_request),
    (re.compile(r"^google\.cloud\.(storage|bigquery|aiplatform)\.Client$"), _Call.read_cloud),
    (re.compile(r"^gdown\.(cached_)?download(_folder)?$"), _Call.read_drive),
    (re.compile(r"(^|\.)(from_pretrained|SentenceTransformer)$"), _Call.read_hugging_face),
    (re.compile(r"^huggingface_hub\.(hf_hub|snapshot)_download$"), _Call.read_hugging_face),
    (re.compile(r"^datasets\.load_dataset$"), _Call.read_hugging_face_dataset),
    (re.compile(r"\.from_preset$"), _Call.read_preset),
    (re.compile(r"^kagglehub\.\w+_download$"), _Call.read_kaggle),
    (re.compile(r"\.(dataset|competition)_download_files?$"), _Call.read_kaggle),
    (re.compile(r"(^|\.)nltk\.download$"), _Call.read_nltk),
    (re.compile(r"^sklearn\.datasets\.fetch_\w+$"), _Call.read_sklearn),
    (re.compile(r"^(seaborn|sns)\.load_dataset$"), _Call.read_seaborn),
)
"""What fetches something, by the name of what is called; the first that fits is asked."""


def _list_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that imports bind, wherever they stand, each with what it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            for one in node.names:
                yield one.asname or one.name, f"{node.module}.{one.name}"
        elif isinstance(node, ast.Import):
            for one in node.names:
                if one.asname:
                    yield one.asname, one.name


def _list_environ(tree: ast.Module, texts: Texts) -> Iterator[tuple[str, str]]:
    """The variables of the environment that the module sets itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))
                    )
                ],
                value=value,
            ) if text := texts.find(value):
                yield name, text
