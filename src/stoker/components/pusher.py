# SPDX-License-Identifier: Apache-2.0
"""Pusher: hands a model to a server by adding a version to the folder that the server watches.

<base_directory>/<version>/           a model that is whole, from the moment it has this name
<root>/.stoker/pushes/<digest>/last   the last version that was pushed there from this root

Nothing else is in that folder: servers and scripts take every name in it for a version. The copy is
made in the step's own scratch folder; only where no rename leads from there to the served folder,
which is on another file system, it is made beside the versions, as `.pushing`. Whoever pushes holds
the lock of the folder itself. To a bucket, a model is pushed as `storage/served_bucket.py` tells.
"""

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from stoker import dsl
from stoker.any_python.launcher_link import report_doing
from stoker.any_python.layout import is_remote, serving_model_path
from stoker.any_python.lines import say
from stoker.any_python.url_files import find_lack
from stoker.artifacts import (
    Artifact,
    ArtifactMap,
    InfraBlessing,
    Model,
    ModelBlessing,
    PushedModel,
    every,
)
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.errors import ModelRejected
from stoker.models.blessing import Marker, is_blessed
from stoker.storage.digests import Manifest, describe, find_differences, seal
from stoker.storage.files import copy_tree, remove_drafts, set_aside, show_path, sync, write_whole
from stoker.storage.locks import hold_folder
from stoker.storage.root import manifest_file, root_of

_COPY, _NOTHING = ".pushing", ".nothing"
_OLD_LAST_PUSH, _OLD_LOCK = ".last_push", ".push_lock"
"""What earlier versions of Stoker kept in the served folder."""
_NUM_DIGITS = 18
"""Of a version, as far as servers count."""
_STAMPED_MODEL = "stamped_model"
_SERVED_DIGEST = "served_digest"
"""Of a PushedModel in a bucket: the digest of the objects that are served."""
_MARKERS: dict[str, Marker] = {"model_blessing": "BLESSED", "infra_blessing": "INFRA_BLESSED"}


class PusherSpec(dsl.ComponentSpec):
    """The Pusher's table."""

    INPUTS: ClassVar = {
        "model": dsl.ChannelParameter(type=Model, optional=True),
        "model_blessing": dsl.ChannelParameter(type=ModelBlessing, optional=True),
        "infra_blessing": dsl.ChannelParameter(type=InfraBlessing, optional=True),
    }
    OUTPUTS: ClassVar = {"pushed_model": dsl.ChannelParameter(type=PushedModel)}
    OLDER_NAMES: ClassVar = {
        "model_export": "model",
        "model_push": "pushed_model",
        "output": "pushed_model",
    }
    PARAMETERS: ClassVar = {
        "push_destination": dsl.ExecutionParameter(type=PushDestination, optional=True),
        "custom_config": dsl.ExecutionParameter(type=str, optional=True),
    }


class Pusher(dsl.BaseComponent):
    """Adds the model to a folder that a server watches, unless a blessing is missing."""

    SPEC_CLASS: ClassVar = PusherSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.pusher:Executor")
    TYPE_NAME: ClassVar = "tfx.components.pusher.component.Pusher"
    BASE_TYPE: ClassVar = "DEPLOY"

    @dsl.take_older_names
    def __init__(
        self,
        model: dsl.Channel | None = None,
        model_blessing: dsl.Channel | None = None,
        infra_blessing: dsl.Channel | None = None,
        push_destination: PushDestination | dict[str, Any] | None = None,
        custom_config: dict[str, Any] | None = None,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            model: The model to push. Without it, the one that `infra_blessing` holds.
            model_blessing: An Evaluator's verdict: a model that is not blessed is not pushed.
            infra_blessing: An InfraValidator's verdict, likewise.
            push_destination: The folder that the server watches. Needed unless there is a
                `custom_executor_spec`.
            custom_config: Anything that JSON can say, for a `custom_executor_spec`.
            custom_executor_spec: An executor of your own, which pushes elsewhere.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if push_destination is None and custom_executor_spec is None:
            raise ValueError(
                "Pusher needs push_destination, such as PushDestination(filesystem="
                "PushDestination.Filesystem(base_directory='/models/penguin'))."
            )
        if model is None and infra_blessing is None:
            raise ValueError(
                "Pusher needs a model: model=trainer.outputs['model'], or an infra_blessing."
            )
        spec = PusherSpec.from_arguments(locals(), custom_config=json.dumps(custom_config))
        super().__init__(spec, custom_executor_spec, instance_name)

    def find_problems(self, parameters: dict[str, Any]) -> Iterator[dsl.Problem]:
        """That the folder cannot be written to."""
        if not parameters.get("push_destination"):
            return
        try:
            there = directory = _base_directory(parameters["push_destination"])
        except ValueError as error:
            yield dsl.Problem(text=str(error))
            return
        if is_remote(there):
            return  # that takes requests: what may not be written to is told when it is
        while not os.path.lexists(there):
            there = os.path.dirname(there)
        if not os.path.isdir(there):
            yield dsl.Problem(text=f"base_directory={directory!r}: {there} is no folder.")
        elif not os.access(there, os.W_OK | os.X_OK):
            text = f"base_directory={directory!r}: you may not write to {there}. Choose another."
            yield dsl.Problem(text=text)

    def find_undone(self, outputs: ArtifactMap) -> str:
        """Why the model that was pushed is not the one that is served now, if it is not.

        A server takes the highest version. What an executor of the user's own pushed elsewhere
        cannot be looked at.
        """
        for pushed_model in outputs["pushed_model"]:
            base_directory, version = os.path.split(
                pushed_model.get_string_custom_property("pushed_destination")
            )
            if is_remote(base_directory) and version.isdecimal():
                return _find_what_is_in_bucket(base_directory, pushed_model)
            if os.path.isabs(base_directory) and version.isdecimal():
                return _find_what_else_is_served(base_directory, pushed_model)
        return ""


class Executor(dsl.BaseExecutor):
    """Pushes to a file system.

    The methods besides `Do` have TFX's names: executors that push elsewhere inherit them.
    """

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Push the model if it is blessed; keep a copy of it as the output."""
        (pushed_model,) = output_dict["pushed_model"]
        if not self.CheckBlessing(input_dict):
            say("The model is not blessed: it is not pushed.")
            self._MarkNotPushed(pushed_model)
            return
        base_directory = _base_directory(exec_properties.get("push_destination"))
        model_path = self.GetModelPath(input_dict)
        report_doing(f"pushing the model to {base_directory}")
        # First the copy that nobody serves: the push is the last thing that can go wrong.
        copy_tree(model_path, pushed_model.uri)
        last_push = root_of(pushed_model.uri).last_push_file(base_directory)
        published = _find_published(model_path, input_dict)
        if is_remote(base_directory):
            version, digest = _push_away(model_path, base_directory, last_push, published)
            pushed_model.set_string_custom_property(_SERVED_DIGEST, digest)
        else:
            version = push(
                model_path,
                base_directory,
                last_push=last_push,
                scratch_dir=self._get_tmp_dir(),
                published=published,
            )
        destination = os.path.join(base_directory, str(version))
        say(f"The model is pushed to {destination}.")
        self._MarkPushed(pushed_model, destination, str(version))

    def CheckBlessing(self, input_dict: dsl.Artifacts) -> bool:
        """Whether every blessing that the pipeline asks for was given."""
        return all(
            is_blessed(input_dict[key], marker)
            for key, marker in _MARKERS.items()
            if key in input_dict
        )

    def GetModelPath(self, input_dict: dsl.Artifacts) -> str:
        """The folder of the model to push: the model's, or the one that the blessing holds."""
        if models := input_dict.get("model"):
            return serving_model_path(models[0].uri)
        for blessing in input_dict.get("infra_blessing", []):
            stamped = os.path.join(blessing.uri, _STAMPED_MODEL)
            if os.path.isdir(stamped):
                return stamped
        raise ValueError(
            "Pusher has no model to push: there is no Model, and no infra_blessing that holds one. "
            "Give it model=trainer.outputs['model']."
        )

    def _MarkPushed(
        self, model_push: Artifact, pushed_destination: str, pushed_version: str | None = None
    ) -> None:
        model_push.set_int_custom_property("pushed", 1)
        model_push.set_string_custom_property("pushed_destination", pushed_destination)
        if pushed_version is not None:
            model_push.set_string_custom_property("pushed_version", pushed_version)

    def _MarkNotPushed(self, model_push: Artifact) -> None:
        model_push.set_int_custom_property("pushed", 0)


def push(
    model_path: str,
    base_directory: str,
    *,
    last_push: str,
    scratch_dir: str,
    published: Manifest | None = None,
) -> int:
    """Add a copy of the model to the folder under a new version, which is returned.

    The copy is made and brought to the disk elsewhere, then renamed: whoever looks sees all of it
    or nothing, and a push that dies changes nothing that was there. The file `last_push` keeps the
    version. A copy that is not what was `published`, where that is known, is refused.
    """
    os.makedirs(base_directory, exist_ok=True)
    with hold_folder(base_directory):
        _take_over(base_directory, last_push)
        with _make_copy(model_path, base_directory, scratch_dir) as copy:
            _refuse_other(model_path, seal(copy), published)
            return _add_version(copy, base_directory, last_push)


def _refuse_other(model_path: str, found: Manifest, published: Manifest | None) -> None:
    for name, problem in find_differences(published or found, found):
        raise ModelRejected(
            f"The model in {model_path} is not what was published, and is not pushed: "
            f"{show_path(name)}: {problem}. Run the pipeline again: a model that is "
            "damaged is made anew."
        )


def _push_away(
    model_path: str, url: str, last_push: str, published: Manifest | None
) -> tuple[int, str]:
    """Add the model to a bucket under a new version; gives that, and a digest of what is there."""
    from stoker.storage.served_bucket import push_to_bucket

    model = describe(model_path)
    _refuse_other(model_path, model, published)

    def choose(taken: Sequence[str]) -> int:
        version = next_version(now=int(time.time()), last=_read_version(last_push), taken=taken)
        with write_whole(last_push) as file:
            file.write(b"%d\n" % version)
        return version

    pending_file = os.path.join(os.path.dirname(last_push), "pending")
    pushed = push_to_bucket(model_path, model, url, choose=choose, pending_file=pending_file)
    return pushed.version, pushed.digest


def _take_over(base_directory: str, last_push: str) -> None:
    """Leave only versions in the folder: an older Stoker, or a push that died, has left more."""
    os.makedirs(os.path.dirname(last_push), exist_ok=True)
    for folder in (base_directory, os.path.dirname(last_push)):
        remove_drafts(folder)
    for name in os.listdir(base_directory):
        path = os.path.join(base_directory, name)
        if name == _OLD_LAST_PUSH and not os.path.lexists(last_push):
            shutil.move(path, last_push)
        elif name in (_COPY, _OLD_LOCK) or name.startswith(_OLD_LAST_PUSH):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


@contextlib.contextmanager
def _make_copy(model_path: str, base_directory: str, scratch_dir: str) -> Iterator[str]:
    """A copy of the model, from where a rename can give it a version."""
    copy = os.path.join(
        scratch_dir if _can_rename(scratch_dir, base_directory) else base_directory, _COPY
    )
    if os.path.lexists(copy):  # of an attempt that died
        shutil.rmtree(copy)
    try:
        copy_tree(model_path, copy)
        yield copy
    finally:  # the copy has another name by now, or something failed, such as a full disk
        shutil.rmtree(copy, ignore_errors=True)


def _can_rename(source_dir: str, target_dir: str) -> bool:
    """Whether a rename leads from one folder to the other: not to another file system, or mount.

    The system finds that out before it finds that there is nothing of this name.
    """
    try:
        os.rename(os.path.join(source_dir, _NOTHING), os.path.join(target_dir, _NOTHING))
    except OSError as error:
        return error.errno == errno.ENOENT
    raise AssertionError(f"{source_dir} has a {_NOTHING}")


def _add_version(copy: str, base_directory: str, last_push: str) -> int:
    """Rename the copy to the next version, and keep its number."""
    while True:
        version = next_version(
            now=int(time.time()),
            last=_read_version(last_push),
            taken=os.listdir(base_directory),
        )
        with write_whole(last_push) as file:
            file.write(b"%d\n" % version)
        try:
            os.rename(copy, os.path.join(base_directory, str(version)))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            continue  # NFS has no locks of folders, and another machine was faster
        sync(base_directory)
        return version


def _find_published(model_path: str, input_dict: dsl.Artifacts) -> Manifest | None:
    """What the files of the model were when they were published, if a step made them."""
    for artifact in every(input_dict):
        manifest, folder = manifest_file(artifact.uri), os.path.relpath(model_path, artifact.uri)
        if not folder.startswith(os.pardir) and os.path.exists(manifest):
            return Manifest.read(manifest).below(folder)
    return None


def _find_what_else_is_served(base_directory: str, pushed_model: Artifact) -> str:
    names = os.listdir(base_directory) if os.path.isdir(base_directory) else []
    versions = [name for name in names if name.isdecimal()]
    if not versions:
        return f"there is no version in {base_directory} any more"
    newest = os.path.join(base_directory, max(versions, key=int))
    pushed = Manifest.read(manifest_file(pushed_model.uri))
    try:
        differences = list(find_differences(pushed, describe(newest)))
    except OSError as error:
        return f"the version that is served cannot be read: {error}"
    for name, problem in differences:
        # Requests to warm up a server are often put there by hand, and are no part of the model.
        if not (problem == "added" and name.startswith("assets.extra")):
            return (
                f"{newest}, the highest version, is not the model that was pushed: "
                f"{show_path(name)}: {problem}"
            )
    return ""


def _find_what_is_in_bucket(url: str, pushed_model: Artifact) -> str:
    from stoker.storage.served_bucket import digest_version, list_versions

    versions = list_versions(url)
    if not versions:
        return f"there is no version in {url} any more"
    newest = f"{url}/{max(versions, key=int)}"
    if digest_version(newest) != pushed_model.get_string_custom_property(_SERVED_DIGEST):
        return f"{newest}, the highest version, is not the model that was pushed"
    return ""


def next_version(*, now: int, last: int, taken: Sequence[str]) -> int:
    """The second of the push, or the first number after every version before it."""
    versions = [int(name) for name in taken if name.isdecimal()]
    return max(now, *(version + 1 for version in [last, *versions]))


def _read_version(last_push: str) -> int:
    """The last version, as it is noted; 0 if nothing is, or nothing that could be understood."""
    try:
        with open(last_push, encoding="ascii") as file:
            return int(file.read(_NUM_DIGITS + 1))  # and what ends the line
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        aside = set_aside(last_push)
        say(f"{last_push} is damaged, and was renamed to {aside}; other versions are counted.")
        return 0


def _base_directory(push_destination: str | None) -> str:
    destination = dsl.parse_message(push_destination, PushDestination())
    directory: str = destination.filesystem.base_directory
    if is_remote(directory) and not (lack := find_lack(directory)):
        return directory.rstrip("/")
    if not directory or is_remote(directory):
        raise ValueError(
            f"Pusher takes a base_directory that it can reach, got {directory!r}. "
            + (
                lack
                if directory
                else "Give a folder, the URL of a bucket, or a custom_executor_spec."
            )
        )
    return os.path.abspath(directory)
