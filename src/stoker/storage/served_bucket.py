# SPDX-License-Identifier: Apache-2.0
"""Versions of a model in a bucket that a server watches.

<url>/<version>/assets.extra/push.json    first: it takes the number, and says what is to come
<url>/<version>/…                         then the files, in any order
<url>/<version>/saved_model.pb            last: a version is a model from the moment it has this

A bucket knows no renaming, so that a version is seen while it is uploaded. TensorFlow Serving does
not load a folder without saved_model.pb: it goes on serving the version before, and tries again.
A push that dies leaves such a folder. The next one from the same root takes it away.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stoker.storage.digests import Manifest
from stoker.storage.files import do_for_all, write_whole
from stoker.storage.places import (
    Object,
    PlaceError,
    list_folder,
    list_objects,
    remove,
    upload,
    write,
)

_CLAIM = "assets.extra/push.json"
_EXTRA = "assets.extra/"
_LAST = ("saved_model.pb", "saved_model.pbtxt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A version that is there, and the digest of its objects."""

    version: int
    digest: str


def push_to_bucket(
    model_path: str,
    model: Manifest,
    url: str,
    *,
    choose: Callable[[Sequence[str]], int],
    pending_file: str,
) -> Pushed:
    """Upload a model as a new version, by a number that `choose` gives, knowing those taken.

    The file `pending_file` has the version while it is not whole.
    """
    _take_away_pending(url, pending_file)
    version = _claim(url, choose, model, pending_file)
    target = f"{url}/{version}"
    *most, last = sorted((entry.path for entry in model.files), key=_rank)
    do_for_all(lambda name: upload(os.path.join(model_path, name), f"{target}/{name}"), most)
    there = {one.url.removeprefix(f"{target}/"): one.size for one in list_objects(target)}
    for entry in model.files:
        if entry.path != last and there.get(entry.path) != entry.size:
            raise PlaceError(
                f"{target}/{entry.path} is not what was uploaded: somebody else writes there. "
                "Choose a push destination of this model's own."
            )
    upload(os.path.join(model_path, last), f"{target}/{last}")
    os.unlink(pending_file)
    return Pushed(version=version, digest=digest_version(target))


def list_versions(url: str) -> list[str]:
    """The names of the versions that are there."""
    return [name for name in list_folder(url) if name.isdecimal()]


def digest_version(url: str) -> str:
    """One digest for the objects of a version, without what is put beside a model by hand."""
    lines = sorted(
        f"{one.url.removeprefix(url)} {one.size} {one.version}\n"
        for one in list_objects(url)
        if not one.url.removeprefix(f"{url}/").startswith(_EXTRA)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _rank(path: str) -> tuple[bool, str]:
    return path in _LAST, path


def _claim(
    url: str, choose: Callable[[Sequence[str]], int], model: Manifest, pending_file: str
) -> int:
    """A version that nobody else has, from now on ours."""
    taken = list_versions(url)
    note = json.dumps({"pushed_by": "stoker", "content_digest": model.digest}).encode()
    while True:
        version = choose(taken)
        with write_whole(pending_file) as file:
            file.write(b"%d" % version)
        try:
            write(f"{url}/{version}/{_CLAIM}", note, new=True)
        except FileExistsError:  # another machine was faster
            taken = [*taken, str(version)]
            continue
        return version


def _take_away_pending(url: str, pending_file: str) -> None:
    """Remove what an earlier push from the same root has left, unless it was whole."""
    with contextlib.suppress(FileNotFoundError):
        with open(pending_file, encoding="ascii") as file:
            version = file.read()
        objects: list[Object] = list_objects(f"{url}/{version}") if version.isdecimal() else []
        names = {one.url.removeprefix(f"{url}/{version}/") for one in objects}
        if _CLAIM in names and not names & {*_LAST}:
            do_for_all(remove, [one.url for one in objects])
        os.unlink(pending_file)
