# SPDX-License-Identifier: Apache-2.0
"""What libraries have fetched before, where each of them keeps it: that needs no network again."""

import glob
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping


class Caches:
    """The caches of this machine, as the environment and the user's code place them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {**os.environ, **environ}

    def has_of_keras(self, kind: str, name: str, home: str | None = None) -> bool:
        """Whether Keras has a model's weights, of whatever size, a dataset or a file."""
        folder = os.path.join(home or self._find("KERAS_HOME", default="~/.keras"), kind)
        kept = os.listdir(folder) if os.path.isdir(folder) else []
        return any(_normalize(name) in _normalize(one) for one in kept)

    def has_of_hub(self, address: str) -> bool:
        """Whether TensorFlow Hub has a model: its folders are called by a digest."""
        default = os.path.join(tempfile.gettempdir(), "tfhub_modules")
        digest = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
        return os.path.isdir(os.path.join(self._find("TFHUB_CACHE_DIR", default=default), digest))

    def has_of_tfds(self, name: str, data_dir: str | None) -> bool:
        """Whether TensorFlow Datasets has prepared a dataset, of whatever version."""
        folder = data_dir or self._find("TFDS_DATA_DIR", default="~/tensorflow_datasets")
        first = re.split(r"[/:]", name)[0]
        return os.path.isdir(os.path.join(os.path.expanduser(folder), first))

    def has_of_hugging_face(self, kind: str, name: str, cache_dir: str | None) -> bool:
        """Whether Hugging Face's libraries have a repository: `models` or `datasets`."""
        home = self._find("HF_HOME", default="~/.cache/huggingface")
        hub = self._find("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", default=f"{home}/hub")
        folders = [cache_dir or hub, self._find("TRANSFORMERS_CACHE", default=hub)]
        folders.append(self._find("HF_DATASETS_CACHE", default=f"{home}/datasets"))
        names = [f"{kind}--{name.replace('/', '--')}", name.replace("/", "___")]
        return any(
            os.path.isdir(os.path.join(os.path.expanduser(folder), one))
            for folder in folders
            for one in names
        )

    def has_of_kaggle(self, handle: str) -> bool:
        """Whether kagglehub has a model, a dataset, or a preset of Keras."""
        folder = self._find("KAGGLEHUB_CACHE", default="~/.cache/kagglehub")
        return bool(glob.glob(f"{glob.escape(folder)}/**/{glob.escape(handle)}", recursive=True))

    def has_of_nltk(self, name: str) -> bool:
        """Whether NLTK has a corpus or a model, packed or not."""
        homes = ("~", sys.prefix, f"{sys.prefix}/share", "/usr/share", "/usr/local/share")
        named = self._environ.get("NLTK_DATA", "").split(os.pathsep)
        folders = [*filter(None, named), *(os.path.join(home, "nltk_data") for home in homes)]
        patterns = [f"{os.path.expanduser(one)}/*/{glob.escape(name)}" for one in folders]
        return any(glob.glob(one) or glob.glob(f"{one}.zip") for one in patterns)

    def has_of_sklearn(self, data_home: str | None) -> bool:
        """Whether scikit-learn has fetched anything; its files are not called by its functions."""
        folder = data_home or self._find("SCIKIT_LEARN_DATA", default="~/scikit_learn_data")
        return any(os.scandir(folder)) if os.path.isdir(folder) else False

    def has_of_seaborn(self, name: str) -> bool:
        """Whether seaborn has one of its example tables."""
        folder = self._find("SEABORN_DATA", default="~/.cache/seaborn")
        return os.path.exists(os.path.join(folder, f"{name}.csv"))

    def _find(self, *variables: str, default: str) -> str:
        given = next(filter(None, map(self._environ.get, variables)), default)
        return os.path.expanduser(given)


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
