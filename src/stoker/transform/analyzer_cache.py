# SPDX-License-Identifier: Apache-2.0
"""The analyzer cache on disk: what earlier runs gathered of each dataset, in TFT's own layout.

    <dir>/<dataset key>/MANIFEST               a pickled dict: cache key to the number of a file
    <dir>/<dataset key>/<n>-00000-of-00001.gz  records, each an accumulator as its coder encodes it

TFT pickles its manifests and its sketches. A pickle could call anything; from these, nothing is
loaded by name but the few names that they need.
"""

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorflow_transform import analyzer_nodes
from tfx_bsl.sketches import QuantilesSketch

from stoker.data.tfrecord import read_records, write_records
from stoker.errors import BadData
from stoker.transform.internals import (
    DatasetCache,
    DatasetKey,
    PerKeyCoder,
    SketchCoder,
    per_key_parts,
)

_MANIFEST = "MANIFEST"
_FILE = "{}-00000-of-00001.gz"
_FILES = "{}-*-of-*"
_NAMES = {
    ("_codecs", "encode"): lambda text, encoding: text.encode(encoding),
    (QuantilesSketch.__module__, QuantilesSketch.__qualname__): QuantilesSketch,
}


def find_cache(cache_dir: str | None, keys: list[DatasetKey]) -> dict[DatasetKey, DatasetCache]:
    """What there is for these datasets: cache keys, each with the files of its records."""
    found: dict[DatasetKey, DatasetCache] = {}
    for key in keys if cache_dir else ():
        folder = Path(str(cache_dir), key.key)
        if (folder / _MANIFEST).exists():
            manifest = _manifest(folder / _MANIFEST)
            files = {entry: sorted(folder.glob(_FILES.format(n))) for entry, n in manifest.items()}
            found[key] = DatasetCache(files, None)
    return found


def read_cached_records(cache: DatasetCache, entry: bytes) -> list[bytes]:
    """The records of one cache key."""
    return [record for path in cache.get(entry) for record in read_records(str(path))]


def write_cache(cache_dir: str, caches: Mapping[DatasetKey, Mapping[bytes, list[bytes]]]) -> None:
    """Write the records of each cache key of each dataset."""
    for key, entries in caches.items():
        folder = Path(cache_dir, key.key)
        folder.mkdir(parents=True, exist_ok=True)
        for number, records in enumerate(entries.values()):
            write_records(str(folder / _FILE.format(number)), records)
        manifest = {entry: number for number, entry in enumerate(entries)}
        (folder / _MANIFEST).write_bytes(pickle.dumps(manifest, protocol=0))


def decode(coder: analyzer_nodes.CacheCoder, record: bytes) -> Any:
    """The accumulator that a coder encoded."""
    if isinstance(coder, SketchCoder):
        return _unpickle(record)
    if isinstance(coder, PerKeyCoder):
        (key, value), value_coder = per_key_parts(coder, record)
        return key, decode(value_coder, value)
    return coder.decode_cache(record)


def _manifest(path: Path) -> dict[bytes, int]:
    try:
        manifest = _unpickle(path.read_bytes())
    except (pickle.UnpicklingError, EOFError, ValueError) as error:
        raise BadData(
            f"{path} is not the manifest of an analyzer cache: {error}."
            " Give another analyzer_cache, or none."
        ) from error
    if not isinstance(manifest, dict):
        raise BadData(
            f"{path} is not the manifest of an analyzer cache: it holds {manifest!r}."
            " Give another analyzer_cache, or none."
        )
    return manifest


def _unpickle(data: bytes) -> Any:
    return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    """Loads what TFT pickles into its cache, and refuses any other name."""

    def find_class(self, module: str, name: str) -> Any:
        """One of a few names."""
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not loaded")
        return _NAMES[module, name]
