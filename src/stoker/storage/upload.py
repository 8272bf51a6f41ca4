# SPDX-License-Identifier: Apache-2.0
"""Outputs in a bucket: uploaded file by file, and published by the manifest, which comes last.

<root>/<node>/<key>/<execution id>/…                          as below a root on this machine
<root>/.stoker/manifests/<node>/<key>/<execution id>.json     what they were, with their versions

Files without a manifest are nobody's: a run was killed before it had uploaded them all. The
manifest has each object's version, so that a listing tells whether anything has changed since; the
columns beside examples are in it too, as caches.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stoker.storage.digests import DamagedManifest, FileEntry, Manifest, describe_caches
from stoker.storage.files import do_for_all, write_whole
from stoker.storage.needed import Needed
from stoker.storage.places import Object, PlaceError, list_objects, read, upload, write
from stoker.storage.root import cache_dir, manifest_file, output_dir
from stoker.storage.staging import StagingCache, Wanted, digest_objects, open_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An artifact in a bucket, as its manifest tells it."""

    url: str
    """Of its folder; of a value, that is not its own URI."""
    manifest: Manifest
    caches: tuple[FileEntry, ...] = ()

    def to_json(self) -> bytes:
        """As it is kept."""
        record = self.manifest.to_record()
        record["caches"] = [entry.to_record() for entry in self.caches]
        return json.dumps(record, indent=1).encode()

    @classmethod
    def from_json(cls, text: bytes, uri: str) -> "Published":
        """The inverse; DamagedManifest if it is another by now."""
        manifest = Manifest.from_json(text, manifest_url(uri))
        try:
            caches = tuple(FileEntry(**entry) for entry in json.loads(text).get("caches", ()))
        except TypeError as error:
            raise DamagedManifest(manifest_url(uri)) from error
        return cls(url=output_dir(uri), manifest=manifest, caches=caches)


def manifest_url(uri: str) -> str:
    """Where the manifest of an output in a bucket is."""
    return manifest_file(uri)


def upload_output(path: str, uri: str, manifest: Manifest) -> Published:
    """Bring the files of a sealed output to the bucket; nothing is published by that."""
    folder, target = output_dir(path), output_dir(uri)
    caches = describe_caches(folder)
    entries = {entry.path: entry for entry in (*manifest.files, *caches)}
    do_for_all(lambda name: upload(os.path.join(folder, name), f"{target}/{name}"), list(entries))
    there = {one.url.removeprefix(f"{target}/"): one for one in list_objects(target)}
    for name, entry in entries.items():
        if name not in there or there[name].size != entry.size:
            raise PlaceError(
                f"{target}/{name} is not what was uploaded: somebody else writes there. "
                "Run the pipeline again, with a pipeline_root that is its own."
            )
    added = sorted(there.keys() - entries.keys())
    if added:
        raise PlaceError(
            f"{target}/{added[0]} is not ours: somebody else writes there. "
            "Run the pipeline again, with a pipeline_root that is its own."
        )

    def with_version(entry: FileEntry) -> FileEntry:
        return replace(entry, ctime_ns=0, version=there[entry.path].version)

    return Published(
        url=target,
        manifest=replace(manifest, files=tuple(map(with_version, manifest.files))),
        caches=tuple(map(with_version, caches)),
    )


def write_manifest(published: Published, uri: str) -> None:
    """Publish an artifact's files, as far as the bucket knows of that."""
    with contextlib.suppress(FileExistsError):  # a try whose answer was lost has written it
        write(manifest_url(uri), published.to_json(), new=True)


def read_published(uri: str, digest: str) -> Published:
    """The manifest of an artifact with this digest; kept on this machine, since it never changes.

    Raises DamagedManifest, or FileNotFoundError if the artifact was never published.
    """
    name = hashlib.sha256(f"{uri} {digest}".encode()).hexdigest()
    kept = os.path.join(cache_dir(), "manifests", f"{name}.json")
    with contextlib.suppress(FileNotFoundError, DamagedManifest):
        with open(kept, "rb") as file:
            found = Published.from_json(file.read(), uri)
        if found.manifest.digest == digest:
            return found
    text = read(manifest_url(uri))
    found = Published.from_json(text, uri)
    if found.manifest.digest != digest:
        raise DamagedManifest(manifest_url(uri))
    keep_published(found, uri)
    return found


def keep_published(published: Published, uri: str) -> None:
    """Keep a manifest on this machine."""
    name = hashlib.sha256(f"{uri} {published.manifest.digest}".encode()).hexdigest()
    kept = os.path.join(cache_dir(), "manifests", f"{name}.json")
    with write_whole(kept, durable=False) as file:
        file.write(published.to_json())


def find_problems_there(uri: str, digest: str) -> list[tuple[str, str]]:
    """Each object of a published artifact that is not what it was: its URL, and how it differs.

    Nothing is downloaded: what a listing tells of an object is another as soon as it is.
    """
    try:
        published = read_published(uri, digest)
    except FileNotFoundError:
        return [(manifest_url(uri), "the manifest is missing")]
    except DamagedManifest:
        return [(manifest_url(uri), "the manifest is damaged")]
    there = {one.url.removeprefix(f"{published.url}/"): one for one in list_objects(published.url)}
    found = []
    for entry in published.manifest.files:
        one = there.pop(entry.path, None)
        if problem := _compare(entry, one):
            found.append((f"{published.url}/{entry.path}", problem))
    added = there.keys() - {entry.path for entry in published.caches}
    return [*found, *((f"{published.url}/{name}", "added") for name in sorted(added))]


def _compare(entry: FileEntry, found: Object | None) -> str:
    if found is None:
        return "missing"
    if found.size != entry.size:
        return f"resized: {found.size} bytes, was {entry.size}"
    return "changed" if found.version != entry.version else ""


def stage_output(cache: StagingCache, uri: str, digest: str, needed: Needed | None = None) -> str:
    """Have the files of an artifact on this machine, or those that are needed; gives its path."""
    needed = needed or Needed()
    try:
        published = read_published(uri, digest)
    except (FileNotFoundError, DamagedManifest) as error:
        raise PlaceError(
            f"{uri} is not what was published: its manifest {manifest_url(uri)} is missing or "
            "damaged. Run the pipeline again, and it is made anew."
        ) from error
    wanted = [
        Wanted(
            url=f"{published.url}/{entry.path}",
            size=entry.size,
            sha256=entry.sha256,
            version=entry.version,
        )
        for entry in needed.choose(published.manifest.files, published.caches)
    ]
    place = cache.stage(published.url, wanted, digest=needed.name_tree(digest))
    for folder in ("", *(published.manifest.empty_folders or ())):
        os.makedirs(os.path.join(place, folder), exist_ok=True)
    path = place if published.url == uri else os.path.join(place, os.path.basename(uri))
    if not os.path.exists(manifest_file(path)):
        published.manifest.write(manifest_file(path), durable=False)
    return path


def stage_external(cache: StagingCache, url: str) -> str:
    """Have what no step made on this machine: an object, or all that is below a URL."""
    objects = list_objects(url)
    if not objects:
        raise PlaceError(f"There is nothing at {url}. Check the URL.")
    return cache.stage(url, list(map(Wanted.of, objects)), digest=digest_objects(objects, url))


def stage_artifact(uri: str, properties: Mapping[str, Any]) -> str:
    """Have an artifact on this machine, whoever made it, by what the store knows of it."""
    cache = open_cache(cache_dir())
    digest = properties.get("content_digest")
    if digest and not properties.get("is_external"):
        return stage_output(cache, uri, str(digest))
    return stage_external(cache, uri)


def adopt_output(cache: StagingCache, path: str, published: Published) -> None:
    """Keep the files of an output that was made here and is published by now."""
    folder = output_dir(path)
    for entry in (*published.manifest.files, *published.caches):
        cache.adopt(os.path.join(folder, entry.path), entry.sha256, entry.size)
