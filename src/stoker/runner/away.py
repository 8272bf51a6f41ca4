# SPDX-License-Identifier: Apache-2.0
"""What is not on this machine: staged before a step, published after it.

Runs whose places are all folders of this machine never come here.

One rule: code in a worker sees local paths, and the store records the real ones.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact, ArtifactMap, Examples
from stoker.dsl.component import BaseComponent, Node
from stoker.runner.console import Console
from stoker.runner.inputs import is_sealed
from stoker.runner.plan import StepPlan
from stoker.storage.checkpoint_mirror import (
    CheckpointMirror,
    discard_checkpoints,
    go_on_from_newest,
    name_machine,
)
from stoker.storage.digests import Manifest
from stoker.storage.needed import Needed
from stoker.storage.places import (
    Object,
    PlaceError,
    list_folder,
    list_objects,
    look_once,
    write,
)
from stoker.storage.root import Root, cache_dir, output_dir
from stoker.storage.staging import StagingCache, Wanted, digest_objects, find_url, open_cache
from stoker.storage.upload import (
    adopt_output,
    find_problems_there,
    keep_published,
    stage_output,
    upload_output,
    write_manifest,
)
from stoker.views.table import readable_size

_GLOB = frozenset("*?[")


@dataclass(slots=True)
class Away:
    """What the steps of a run read that is elsewhere."""

    console: Console
    root: Root
    elsewhere: bool = False
    """Whether steps run on machines that stage for themselves."""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What such a machine is to stage, by the path that it would have here."""
    checkpoints: str = ""
    """Where copies of the present step's checkpoints are."""

    @property
    def _cache(self) -> StagingCache:
        cache = open_cache(cache_dir())
        cache.report = self._report
        return cache

    def _report(self, done: int, total: int) -> None:
        doing = f"staging its inputs: {readable_size(done)} of {readable_size(total)}"
        self.console.event({"kind": "progress", "doing": doing})

    def describe(self) -> dict[str, Any] | None:
        """What a machine has to know that shares no folder with this one."""
        if not (self.elsewhere and self.root.url):
            return None
        known = {"root": self.root.url, "inputs": self.inputs}
        return {**known, "checkpoints": self.checkpoints}

    def stage_inputs(
        self, node: BaseComponent, inputs: ArtifactMap, parameters: Mapping[str, Any]
    ) -> dict[str, list[Artifact]]:
        """The inputs, each with the path of its files on this machine."""
        self.inputs = {}
        return {
            key: [self._stage_one(node, artifact, parameters) for artifact in artifacts]
            for key, artifacts in inputs.items()
        }

    def _stage_one(
        self, node: BaseComponent, artifact: Artifact, parameters: Mapping[str, Any]
    ) -> Artifact:
        if not is_remote(artifact.uri):
            return artifact
        staged = type(artifact).from_dict(artifact.to_dict())
        if is_sealed(artifact):
            digest = artifact.get_string_custom_property("content_digest")
            needed = find_needed(node, artifact, parameters)
            if self.elsewhere:
                staged.uri = self._cache.find_path(artifact.uri, needed.name_tree(digest))
                self.inputs[staged.uri] = {
                    "url": artifact.uri,
                    "digest": digest,
                    "needed": needed.to_record(),
                }
            else:
                staged.uri = stage_output(self._cache, artifact.uri, digest, needed)
        else:
            staged.uri = self._stage_objects(artifact.uri, list_objects(artifact.uri))
        return staged

    def stage_parameters(self, node: BaseComponent, plan: StepPlan) -> dict[str, Any]:
        """The parameters, with paths on this machine for the files that they name by URLs."""
        parameters = dict(plan.parameters)
        files = set(filter(is_remote, node.external_files(parameters)))
        for key, value in plan.parameters.items():
            declared = node.spec.PARAMETERS.get(key)
            if declared and declared.names_file and isinstance(value, str) and is_remote(value):
                found = list_objects(_find_folder(value))
                objects = [one for one in found if not files or one.url in files]
                parameters[key] = self._stage_objects(value, objects)
        return parameters

    def _stage_objects(self, url: str, objects: Sequence[Object]) -> str:
        """The path of a URL, or of a pattern, below which objects are staged."""
        if not objects:
            raise PlaceError(f"There is nothing at {url}. Check the URL.")
        digest = digest_objects(objects, _find_folder(url))
        if not self.elsewhere:
            return self._cache.stage(url, list(map(Wanted.of, objects)), digest=digest)
        path = self._cache.find_path(url, digest)
        files = [[one.url, one.size, one.version] for one in objects]
        self.inputs[path] = {"url": url, "digest": digest, "files": files}
        return path

    @contextlib.contextmanager
    def keep_checkpoints(self, folder: str, *, fresh: bool) -> Iterator[None]:
        """Inside, checkpoints in a folder are copied to the bucket; gone if the work ends well."""
        url, machine = self.root.find_place(folder), name_machine(self.root)
        if fresh:
            discard_checkpoints(url)
        elif num_files := go_on_from_newest(url, machine, folder):
            self.console.step(f"{num_files} files of checkpoints were taken from {url}")
        self.checkpoints = f"{url}/{machine}"
        if self.elsewhere:  # machines that work together shuffle alike
            from stoker.training.resume.checkpoints import draw_seed

            draw_seed(folder)
        mirror = CheckpointMirror(folder, self.checkpoints)
        mirror.copy_once()
        try:
            if self.elsewhere:  # each node copies its own
                mirror.close()
                yield
            else:
                with contextlib.closing(mirror):
                    yield
        finally:
            self.checkpoints = ""
        discard_checkpoints(url)


def find_needed(node: BaseComponent, artifact: Artifact, parameters: Mapping[str, Any]) -> Needed:
    """What is staged of an artifact: code of the user's own may open any file, and gets all."""
    is_ours = node.executor_spec.class_path.startswith("stoker.")
    if not (is_ours and isinstance(artifact, Examples)):
        return Needed()
    return node.find_needed(dict(parameters), artifact.splits)


def _find_folder(url: str) -> str:
    """What is certain of a pattern; a URL without one is itself."""
    if not _GLOB & set(url):
        return url
    parts = url.split("/")
    return "/".join(parts[: next(i for i, part in enumerate(parts) if _GLOB & set(part))])


def stage_module(url: str) -> str:
    """Have a user's file on this machine, with those beside it, which it may import."""
    folder, _, name = url.rpartition("/")
    there = {key: one for key, one in list_folder(folder).items() if key.endswith(".py")}
    if not there.get(name):
        raise PlaceError(f"There is no file {url}. Check module_file.")
    objects = [one for one in there.values() if one]
    wanted = list(map(Wanted.of, objects))
    cache = open_cache(cache_dir())
    path = cache.stage(folder, wanted, digest=digest_objects(objects, folder))
    return os.path.join(path, name)


def describe_there(uri: str) -> str:
    """One digest for what no step made, by its versions."""
    return digest_objects(list_objects(uri), uri)


def describe_files(
    node: BaseComponent, parameters: Mapping[str, Any], digest: Callable[[str], str]
) -> dict[str, str]:
    """The files from outside that a step reads, and what tells their contents apart.

    Of those in buckets, by one listing of each folder.
    """
    with look_once():
        files = node.external_files(dict(parameters))
        folders = {url.rpartition("/")[0] for url in filter(is_remote, files)}
        known = {one.url: one for url in folders for one in list_folder(url).values() if one}
    return {
        path: f"version {known[path].version} of {known[path].size} bytes"
        if path in known
        else digest(path)
        for path in files
    }


def find_damage_there(artifact: Artifact) -> str:
    """What is wrong with an artifact's objects, by a listing; nothing is downloaded."""
    known = artifact.get_string_custom_property("content_digest")
    if is_sealed(artifact):
        problems = find_problems_there(artifact.uri, known)
        return next((f"{url}: {why}" for url, why in problems), "")
    if not known:
        return ""
    objects = list_objects(artifact.uri)
    if not objects:
        return f"{artifact.uri} is gone"
    changed = digest_objects(objects, artifact.uri) != known
    return f"the files of {artifact.uri} are not those that were published" if changed else ""


def find_numbers(root: Root, node: Node) -> Iterator[int]:
    """The numbers of the executions that have left anything below a root; 0 is one of them.

    That one may write there is tried now: a training is long, and publishing comes last.
    """
    write(root.find_place(root.writable_file), b"")
    yield 0
    for key in node.outputs:
        names = list_folder(root.find_place(root.outputs_dir(node.id, key)))
        yield from (int(name) for name in names if name.isdigit())


def publish_there(root: Root, artifacts: Sequence[Artifact], manifests: Sequence[Manifest]) -> None:
    """Upload sealed outputs, their manifests last; the artifacts have their real URIs then."""
    for artifact in artifacts:
        if isinstance(artifact, Examples):
            _remove_stale_columns(artifact.uri)
    paths = [artifact.uri for artifact in artifacts]
    uris = [root.find_place(path) for path in paths]
    uploaded = list(map(upload_output, paths, uris, manifests))
    for published, uri in zip(uploaded, uris, strict=True):
        write_manifest(published, uri)
    cache = open_cache(cache_dir())
    for artifact, uri, path, published in zip(artifacts, uris, paths, uploaded, strict=True):
        keep_published(published, uri)
        adopt_output(cache, path, published)
        artifact.uri = uri
        for name, value in artifact.custom_properties.items():
            if isinstance(value, str):
                artifact.custom_properties[name] = find_url(root.find_place(value))
        shutil.rmtree(output_dir(path), ignore_errors=True)


def _remove_stale_columns(path: str) -> None:
    """Publish no columns but those of the records beside them: some steps are given nothing else.

    Who copies examples and edits them may have copied the columns too.
    """
    if os.path.isdir(os.path.join(path, "columns")):
        from stoker.data.columns import list_stale_columns  # loads pyarrow

        for stale in list_stale_columns(path):
            os.unlink(stale)
