# SPDX-License-Identifier: Apache-2.0
"""What an outsider finds in a pipeline root: SQLite, JSON and files, without a line of Stoker's.

Each check returns its complaints; an empty list is good news.
"""

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

RUNNING, COMPLETE, CACHED = 2, 3, 5
_PENDING, _LIVE = 1, 2
_CACHE = ".arrow"
"""Columns beside examples: they can be deleted, or made again, at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRow:
    """One execution, as the tables tell it."""

    id: int
    node: str
    state: int
    created_ms: int
    updated_ms: int


def open_database(root: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(root / "metadata.db", timeout=60))


def list_executions(root: Path) -> list[ExecutionRow]:
    """Oldest first; none if there is no store yet."""
    if not (root / "metadata.db").exists():
        return []
    query = """
        SELECT Execution.id, Context.name, last_known_state,
               Execution.create_time_since_epoch, Execution.last_update_time_since_epoch
        FROM Execution
        JOIN Association ON Association.execution_id = Execution.id
        JOIN Context ON Context.id = Association.context_id
        JOIN Type ON Type.id = Context.type_id
        WHERE Type.name = 'node' ORDER BY Execution.id"""
    with open_database(root) as database:
        try:
            rows = database.execute(query).fetchall()
        except sqlite3.OperationalError:  # killed before the tables were made
            return []
    return [
        ExecutionRow(id=id_, node=name.partition(".")[2], state=state, created_ms=at, updated_ms=to)
        for id_, name, state, at, to in rows
    ]


def list_live_uris(root: Path) -> list[str]:
    if not (root / "metadata.db").exists():
        return []
    with open_database(root) as database:
        try:
            found = database.execute("SELECT uri FROM Artifact WHERE state = ?", (_LIVE,))
        except sqlite3.OperationalError:
            return []
        return [uri for (uri,) in found]


def list_outputs(root: Path) -> dict[tuple[str, str], Path]:
    """By step and key, the output of the newest execution that has one."""
    query = """
        SELECT Context.name, step_key, uri FROM EventPath
        JOIN Event ON Event.id = EventPath.event_id
        JOIN Artifact ON Artifact.id = Event.artifact_id
        JOIN Execution ON Execution.id = Event.execution_id
        JOIN Association ON Association.execution_id = Execution.id
        JOIN Context ON Context.id = Association.context_id
        JOIN Type ON Type.id = Context.type_id
        WHERE Type.name = 'node' AND step_key IS NOT NULL AND Event.type = 4
          AND last_known_state IN (?, ?)
        ORDER BY Execution.id"""
    with open_database(root) as database:
        found = database.execute(query, (COMPLETE, CACHED)).fetchall()
    return {(name.partition(".")[2], key): Path(uri) for name, key, uri in found}


def check_after_kill(root: Path) -> list[str]:
    """What has to hold at every moment, whoever died."""
    return [
        *check_database(root),
        *check_live_artifacts(root),
        *check_served(root),
    ]


def check_after_run(root: Path) -> list[str]:
    """What has to hold when a run has ended well."""
    return [
        *check_after_kill(root),
        *check_closed(root),
        *check_garbage(root),
    ]


def check_database(root: Path) -> list[str]:
    """The file is sound, and no row refers to another one that is not there."""
    if not (root / "metadata.db").exists():
        return []
    with open_database(root) as database:
        try:
            found = [line for (line,) in database.execute("PRAGMA integrity_check")]
            problems = [] if found == ["ok"] else [f"SQLite: {line}" for line in found]
            return problems + list(_find_dangling(database))
        except sqlite3.DatabaseError as error:
            return [f"SQLite: {error}"]


def _find_dangling(database: sqlite3.Connection) -> Iterator[str]:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    references = [
        ("Event", "artifact_id", "Artifact"),
        ("Event", "execution_id", "Execution"),
        ("EventPath", "event_id", "Event"),
        ("Association", "context_id", "Context"),
        ("Association", "execution_id", "Execution"),
        ("Attribution", "artifact_id", "Artifact"),
    ]
    for table, column, other in references:
        if {table, other} <= tables:
            (count,) = database.execute(
                f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM {other})"
            ).fetchone()
            if count:
                yield f"{count} rows of {table} have a {column} that is not in {other}"


def check_live_artifacts(root: Path) -> list[str]:
    """Every file of a published artifact is there, and is what the manifest says; no other is."""
    problems = []
    for uri in list_live_uris(root):
        problems += _check_artifact(root, Path(uri))
    return problems


def _check_artifact(root: Path, uri: Path) -> list[str]:
    folder = uri.parent if uri.name == "value" else uri
    manifest = root / ".stoker" / "manifests" / folder.relative_to(root)
    manifest = manifest.with_name(f"{manifest.name}.json")
    if not manifest.exists():
        return [f"{uri} is LIVE and has no manifest"]
    entries = json.loads(manifest.read_text())["files"]
    told = {entry["path"]: entry["sha256"] for entry in entries}
    there = digest_folder(folder)
    names = sorted(name for name in told | there if told.get(name) != there.get(name))
    return [f"{uri}/{name} is not what its manifest says" for name in names]


def check_served(root: Path) -> list[str]:
    """Every version in the served folder is a whole copy of a model that was published.

    A push that was killed after its version got its name is one too: of a model that is LIVE.
    """
    models = {
        tuple(sorted(digest_folder(Path(uri) / "Format-Serving").items()))
        for uri in list_live_uris(root)
        if (Path(uri) / "Format-Serving").is_dir()
    }
    return [
        f"{version} is not a whole copy of any published model"
        for version in sorted((root / "served").glob("[0-9]*"))
        if tuple(sorted(digest_folder(version).items())) not in models
    ]


def check_closed(root: Path) -> list[str]:
    """Nothing is left open by runs that are dead: all are, once a run has ended."""
    open_ones = [one for one in list_executions(root) if one.state == RUNNING]
    problems = [f"execution {one.id} of {one.node} is left RUNNING" for one in open_ones]
    with open_database(root) as database:
        pending = database.execute("SELECT uri FROM Artifact WHERE state = ?", (_PENDING,))
        return problems + [f"{uri} is left PENDING" for (uri,) in pending]


def check_garbage(root: Path) -> list[str]:
    """What a run that ended well leaves of those before it: no scratch and no checkpoints."""
    own = root / ".stoker"
    left = [
        *own.glob("tmp/*"),
        *own.glob("checkpoints/*/*"),
        *root.rglob(".fuse_hidden*"),
        *(one for one in root.glob("served/*") if not one.name.isdecimal()),
    ]
    return [f"{path} is left behind" for path in left]


def check_repeated(root: Path, since: int, steps: Collection[str]) -> list[str]:
    """Each step was published once since an execution: what had been published was not repeated."""
    done = [one.node for one in list_executions(root) if one.id > since and one.state == COMPLETE]
    return [
        f"{step} was published {done.count(step)} times" for step in steps if done.count(step) > 1
    ]


def check_cleaned(root: Path) -> list[str]:
    """After `stoker clean`, the outputs on disk are the published ones, and there are no drafts."""
    live = {
        Path(uri).parent if uri.endswith("/value") else Path(uri) for uri in list_live_uris(root)
    }
    nodes = {one.node for one in list_executions(root)}
    there = {path for node in nodes for path in root.glob(f"{node}/*/*")}
    there.update(root.rglob(".writing-*"))
    return [f"{path} is not cleaned away" for path in sorted(there - live)]


def digest_folder(folder: Path) -> dict[str, str]:
    """The files below a folder, with their digests; caches do not count."""
    return {
        str(path.relative_to(folder)): digest_file(path)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != _CACHE
    }


def digest_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
