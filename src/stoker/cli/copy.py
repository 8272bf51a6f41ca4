# SPDX-License-Identifier: Apache-2.0
"""`stoker copy`: an artifact's files to a bucket or a folder, whole and verified."""

import os

import click

from stoker.any_python.layout import is_remote
from stoker.any_python.url_files import find_lack
from stoker.cli.lookup import find_artifact
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer
from stoker.errors import StokerError
from stoker.metadata.store import Store
from stoker.runner.inputs import is_sealed
from stoker.storage.digests import Manifest, describe, find_differences
from stoker.storage.files import copy_tree, do_for_all
from stoker.storage.root import manifest_file, output_dir
from stoker.views.artifact_views import bring_near
from stoker.views.table import readable_path, readable_size


@click.command()
@click.argument("artifact", metavar="ARTIFACT")
@click.argument("target", metavar="URL|FOLDER")
@json_option
@with_store(by="artifact")
def copy(store: Store, artifact: str, target: str, as_json: bool) -> int:
    """Copy the files of ARTIFACT, by its id, path or URL, to where nothing is yet.

    They are compared with what was published. The store goes on naming the original: an Importer
    with this source_uri gives the copy to a pipeline.
    """
    found = find_artifact(store, artifact)
    near = bring_near(found)
    if not os.path.exists(near.uri):
        raise StokerError(
            f"The files of {found.type_name} {found.id} are gone: {found.uri}. Run its steps again."
        )
    files = describe(near.uri)
    if is_sealed(found) and os.path.exists(manifest_file(near.uri)):
        published = Manifest.read(manifest_file(near.uri))
        for name, problem in find_differences(published, files):
            raise StokerError(
                f"{found.uri} is not what was published, and is not copied: {name}: {problem}. Run "
                "its pipeline again."
            )
    if is_remote(target):
        _upload(near.uri, files, target.rstrip("/"))
    else:
        if os.path.lexists(target):
            raise click.UsageError(f"{target} exists. Name a folder that does not.")
        copy_tree(output_dir(near.uri), target)
    num_bytes = sum(entry.size for entry in files.files)
    record = {"artifact": found.id, "from": found.uri, "to": target, "num_bytes": num_bytes}
    what = f"{found.type_name} {found.id}: {len(files.files)} files, {readable_size(num_bytes)}"
    print_answer(record, f"{what}, are at {readable_path(target)}.", as_json=as_json)
    return 0


def _upload(path: str, files: Manifest, url: str) -> None:
    from stoker.storage.places import PlaceError, list_objects, upload

    if lack := find_lack(url):
        raise click.UsageError(f"{url} cannot be reached. {lack}")
    try:
        if list_objects(url):
            raise click.UsageError(f"There are files at {url}. Name an empty place.")
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        names = [entry.path for entry in files.files]
        do_for_all(lambda name: upload(os.path.join(folder, name), f"{url}/{name}"), names)
        there = {one.url.removeprefix(f"{url}/"): one.size for one in list_objects(url)}
    except PlaceError as error:
        raise StokerError(str(error)) from error
    for entry in files.files:
        if there.get(entry.path) != entry.size:
            raise StokerError(f"{url}/{entry.path} is not what was uploaded. Copy it again.")
