# SPDX-License-Identifier: Apache-2.0
"""Whether a step has to run at all. The key is content, and a miss says which part changed.

A key is made of named parts: the executor, its outputs, each parameter, each input, each file. What
a step's code was seen to read besides is checked too, as a compiler's dependency file is: a worker
notes it (`any_python/notes.py`), and it is looked up again before an execution is reused, or a
training resumed.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from stoker.any_python.layout import is_remote
from stoker.any_python.notes import (
    COMMAND_LINE,
    FILE,
    FLAG,
    FOLDER,
    PRESENCE,
    VARIABLE,
    VARIABLES,
    describe_file,
    describe_folder,
    describe_presence,
    digest_text,
    is_users_variable,
)
from stoker.any_python.surroundings import flags_of_this_program
from stoker.artifacts import Artifact, ArtifactMap, PropertyValue, ValueArtifact
from stoker.dsl.component import BaseComponent
from stoker.launchers.interpreters.finding import inspect_python
from stoker.metadata.masking import KnownSecrets, is_secret, mask_secrets
from stoker.metadata.records import Execution
from stoker.runner.inputs import is_named_by_url
from stoker.runner.plan import StepPlan
from stoker.storage.digests import FileDigests, describe
from stoker.storage.files import write_whole
from stoker.storage.root import Root, move_path
from stoker.task import ProcessNeeds
from stoker.user_code.fingerprint import digest_definition

Notes = Mapping[str, str]
Parts = Mapping[str, str]
_MANY_FILES = 50
_LARGEST_SOURCE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What this program was given, and where files are that are not the user's."""

    values: Notes
    """The flags that were set, the command line, and every variable, as notes have them."""
    not_users: Sequence[str]
    digest: Callable[[str], str]
    moved: Mapping[str, str] = field(default_factory=dict)
    """Folders that lay elsewhere when earlier runs took their notes, with where they are now."""

    @classmethod
    def to_this_program(
        cls,
        root: Root,
        digest: Callable[[str], str],
        moved_roots: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """What there is to read now; a secret is not kept, only its digest."""
        flags = flags_of_this_program() or {}
        counted = sorted(filter(is_users_variable, os.environ))
        values = {
            **{FLAG + name: _hide_secret(name, arguments) for name, arguments in flags.items()},
            **{VARIABLE + name: digest_text(value) for name, value in os.environ.items()},
            VARIABLES: digest_text("\n".join(counted)),
            COMMAND_LINE: digest_text("\n".join(sys.argv[1:])),
        }
        return cls(
            values=values,
            not_users=(root.path, tempfile.gettempdir(), *moved_roots),
            digest=digest,
            moved=dict(map(_find_moved_project, moved_roots.items())),
        )

    def describe_changes(self, notes: Notes) -> list[str]:
        """What is not as it was when it was noted, in words."""
        changed = (
            (name, then, next((now for now in self._look_up(name) if now != then), then))
            for name, then in notes.items()
        )
        return [_say(name, then, now) for name, then, now in changed if now != then]

    def _look_up(self, name: str) -> list[str]:
        """What there is now: of a path in a folder that was moved or copied, wherever it is."""
        for kind, look in (
            (FILE, lambda path: describe_file(path, self.digest)),
            (FOLDER, lambda path: describe_folder(path, self.not_users)),
            (PRESENCE, describe_presence),
        ):
            if name.startswith(kind):
                path = name.removeprefix(kind)
                places = filter(os.path.lexists, (path, move_path(path, self.moved)))
                return [look(place) for place in list(places) or [path]]
        return [self.values.get(name, "")]


def _find_moved_project(moved_root: tuple[str, str]) -> tuple[str, str]:
    """The folder that was moved with a root in it, and where it is now."""
    before, now = moved_root
    while os.path.basename(before) == os.path.basename(now):
        before, now = os.path.dirname(before), os.path.dirname(now)
    return before, now


def _hide_secret(flag: str, arguments: Sequence[str]) -> str:
    text = " ".join(argument.removeprefix(f"--{flag}=") for argument in arguments)
    return f"digest {digest_text(text)}" if is_secret(flag) else text


def _say(name: str, then: str, now: str) -> str:
    """What is not as it was noted."""
    if name == COMMAND_LINE:
        return "the command line, which the code reads, changed"
    if name == VARIABLES:
        return "there are other environment variables, and the code lists them"
    kind = next(one for one in (FLAG, VARIABLE, FOLDER, PRESENCE, FILE) if name.startswith(one))
    what = name.removeprefix(kind)
    if kind == FLAG:
        values = "" if is_secret(what) else f": {now or 'not set'}, was {then or 'not set'}"
        return f"flag --{what} changed{values}"
    if kind == VARIABLE:
        return f"environment variable {what} changed"
    if kind == FOLDER:
        return f"folder {what}, which the code lists, has other files"
    if kind == PRESENCE:
        return f"{what} is {'there' if now == 'there' else 'gone'} now"
    return f"file {what} {'is gone' if now == 'missing' else 'changed'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An execution of the same step that ended well."""

    execution_id: int
    parts: Parts
    observed: Notes
    """What its code has read besides: files, flags, variables."""
    edits: str = ""
    """What was changed while it ran: then it is not known what it depends on."""

    @classmethod
    def of(cls, execution: Execution) -> Self:
        """An execution as the store tells it."""
        found = execution.properties
        return cls(
            execution_id=execution.id,
            parts=_read_texts(found.get("cache_parts")),
            observed=_read_texts(found.get("observed")),
            edits=str(found.get("edits_while_running", "")),
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """The step need not run: an earlier execution did the same."""

    execution_id: int
    explanation: str


@dataclass(frozen=True, slots=True)
class Miss:
    """The step has to run, and why."""

    explanation: str
    is_expected: bool = False
    """Whether there was nothing to reuse: the run then need not say why."""

    @property
    def summary(self) -> str:
        """The first reason, for the run's own line; nothing if a miss was expected."""
        first, _, more = self.explanation.removeprefix("miss: ").partition("; ")
        if self.is_expected:
            return ""
        return f"{first}, and {more.count('; ') + 1} more" if more else first


def make_key(parts: Parts) -> str:
    """One digest for all parts."""
    return _digest_json(dict(parts))


def make_work_key(node: BaseComponent, parts: Parts) -> str:
    """One digest for what a resumable step works on, however fast."""
    ignored = {f"parameter {name}" for name in node.PACE_PARAMETERS}
    return make_key({name: part for name, part in parts.items() if name not in ignored})


def decide(parts: Parts, same_key: Sequence[Past], latest: Past | None, given: Given) -> Hit | Miss:
    """Reuse the newest execution with the same key that would read the same, or say why not.

    `same_key` is newest first; `latest` is what a miss is compared with.
    """
    for one in same_key:
        if not given.describe_changes(one.observed):
            return Hit(one.execution_id, f"hit: nothing changed since execution {one.execution_id}")
    if latest is None:
        return Miss("miss: no earlier run of this step ended well", is_expected=True)
    if not latest.parts:
        return Miss(
            "miss: the last run was without enable_cache, which leaves nothing to compare with"
        )
    if latest.edits:
        return Miss(f"miss: while the last run ran, {latest.edits}")
    changes = _describe_changes(latest.parts, parts) or given.describe_changes(latest.observed)
    return Miss(f"miss: {'; '.join(changes)}")


def find_edits(before: Parts, after: Parts, observed: Notes, given: Given) -> str:
    """What was changed while a step ran, whose parts were collected `before` and `after`.

    What it `observed` was read at some time in between, and noted as it was then. Where anything
    has changed, nobody knows which state the step has worked with.
    """
    return "; ".join(_describe_changes(before, after) or given.describe_changes(observed))


def _describe_changes(before: Parts, now: Parts) -> list[str]:
    """What differs, in words."""
    changed = [f"{name} changed" for name in now if name in before and before[name] != now[name]]
    added = [f"{name} is new" for name in now if name not in before]
    gone = [f"{name} is gone" for name in before if name not in now]
    return changed + added + gone


def collect_parts(
    node: BaseComponent,
    plan: StepPlan,
    inputs: ArtifactMap,
    digests: FileDigests,
    *,
    beam_flags: Sequence[Any] = (),
) -> dict[str, str]:
    """Everything that a step's outputs depend on, by name."""
    parts = {
        "executor": node.executor_spec.class_path.rpartition("/")[2],
        "outputs": _digest_json({key: one.type.TYPE_NAME for key, one in node.outputs.items()}),
        "stoker": importlib.metadata.version("stoker"),
        **{f"version of {name}": version for name, version in plan.package_versions.items()},
        **_find_versions(plan.needs),
        **collect_code_parts(node, plan, digests),
        **_describe_beam_flags(node, beam_flags),
    }
    for name, value in plan.parameters.items():
        # Where the code lies does not matter, only what it says.
        if value is None or value != plan.user_file:
            parts[f"parameter {name}"] = _digest_json(value)
    for key, artifacts in inputs.items():
        parts[f"input {key}"] = _digest_json([_describe_content(one) for one in artifacts])
    files = _describe_data_files(node, plan, digests)
    if len(files) > _MANY_FILES:
        parts[f"{len(files)} data files"] = _digest_json(list(files.items()))
    else:
        parts |= {f"data file {file}": digest for file, digest in files.items()}
    return parts


def _describe_beam_flags(node: BaseComponent, flags: Sequence[Any]) -> dict[str, str]:
    """What an executor of the user's own may read, and ours for BigQuery; but not where it runs."""
    path = node.executor_spec.class_path
    if path.startswith("stoker.") and not path.endswith(":BigQueryExecutor"):
        return {}
    read = [text for text in map(str, flags) if not text.startswith(("--runner", "--direct_"))]
    return {"Beam flags": _digest_json(read)} if read else {}


def _describe_data_files(
    node: BaseComponent, plan: StepPlan, digests: FileDigests
) -> dict[str, str]:
    """The files from outside that a step reads, and what tells their contents apart."""
    if is_named_by_url(node, plan.parameters):
        from stoker.runner.away import describe_files

        return describe_files(node, plan.parameters, digests)
    return {file: digests(file) for file in node.external_files(dict(plan.parameters))}


def keep_code(plan: StepPlan, root: Root, digest: FileDigests, secrets: KnownSecrets) -> None:
    """Keep what the user's files say now, so that two runs can be compared when they have changed.

    Without secrets. A copy that cannot be made costs that comparison, never the step.
    """
    for path in plan.code_files:
        kept = root.source_file(digest(path))
        with contextlib.suppress(OSError):
            if not os.path.exists(kept) and os.path.getsize(path) <= _LARGEST_SOURCE:
                os.makedirs(os.path.dirname(kept), exist_ok=True)
                text = Path(path).read_text(encoding="utf-8", errors="backslashreplace")
                with write_whole(kept, durable=False) as copy:
                    copy.write(mask_secrets(secrets.mask(text)).encode())


def _find_versions(needs: ProcessNeeds) -> dict[str, str]:
    if needs.python:
        there = inspect_python(needs.python)
        return {
            "version of Python": there.version,
            "version of tensorflow": there.tensorflow or "none",
        }
    if not needs.tensorflow:
        return {}
    keras = {2: "tf-keras", 3: "keras"}.get(needs.keras or 0)
    versions = {
        "version of tensorflow": importlib.metadata.version("tensorflow"),
        "version of Keras": importlib.metadata.version(keras) if keras else "none",
    }
    if needs.estimators:
        versions["version of tensorflow-estimator"] = importlib.metadata.version(
            "tensorflow-estimator"
        )
    return versions


def collect_code_parts(node: BaseComponent, plan: StepPlan, digest: FileDigests) -> dict[str, str]:
    """The user's code: what pipeline files define, and the files of a module."""
    parts, files = {}, set()
    for reference in (node.executor_spec.class_path, *plan.artifact_classes.values()):
        file, _, name = reference.rpartition(":")
        if file.endswith(".py") and os.path.isfile(file):
            parts[f"source of {name}"] = digest_definition(file, name)
            files.add(file)
    if plan.user_file and (
        plan.user_file not in files or plan.user_file in plan.parameters.values()
    ):
        folder = os.path.dirname(os.path.abspath(plan.user_file))
        for path in plan.code_files:
            parts[f"file {os.path.relpath(path, folder)}"] = digest(path)
    return parts


def _describe_content(artifact: Artifact) -> list[Any]:
    digest = artifact.custom_properties.get("content_digest") or _describe_files(artifact.uri)
    known = [artifact.type_name, digest, artifact.properties]
    is_null = isinstance(artifact, ValueArtifact) and artifact.is_null  # its file is just empty
    return [*known, None] if is_null else known


def _describe_files(uri: str) -> str:
    if is_remote(uri):
        from stoker.runner.away import describe_there

        return describe_there(uri)
    return describe(uri).digest


def _read_texts(value: PropertyValue) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}


def _digest_json(value: Any) -> str:
    return _digest_text(json.dumps(value, sort_keys=True))


def _digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
