# SPDX-License-Identifier: Apache-2.0
"""One execution of one step: recorded before it runs, published or closed when it ends.

Outputs go straight to directories of the execution's own. They are sealed and described in
manifests before one transaction makes them LIVE; whatever stops that leaves nothing published.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stoker.artifacts import (
    Artifact,
    ArtifactMap,
    ModelEvaluation,
    ModelRun,
    PropertyValue,
    ValueArtifact,
    every,
)
from stoker.dsl.component import Node
from stoker.errors import StepFailed, StoreError
from stoker.metadata.masking import KnownSecrets
from stoker.metadata.records import METRICS, OWN_PROPERTIES, SKIPPED, EventType, ExecutionState
from stoker.runner.tracking import Trackers, describe_outputs
from stoker.storage.digests import Manifest, seal
from stoker.storage.root import Root, manifest_file, output_dir

if TYPE_CHECKING:
    from stoker.metadata.store import Store

FEW_SECONDS = 10
"""How long the record of a failure waits for a store that does not answer."""


@dataclass(kw_only=True)
class ExecutionRecorder:
    """Writes down one execution: how it began, and how it ended."""

    store: "Store"
    root: Root
    pipeline_name: str
    run_id: str
    node: Node
    secrets: KnownSecrets
    """What no text that is recorded may quote."""
    trackers: Trackers | None
    """Who is told of it besides the store, and later, if anybody is."""
    own_properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    """What is said of it besides its parameters."""
    id: int = 0
    outputs: ArtifactMap = field(default_factory=dict)

    def begin(
        self, inputs: ArtifactMap, properties: Mapping[str, Any], *, writes: bool = False
    ) -> None:
        """Record the execution as RUNNING; if it `writes`, with its outputs PENDING."""

        def make_outputs(execution_id: int) -> ArtifactMap:
            if writes:
                self.outputs = {
                    key: [self._make_output(key, execution_id)] for key in self.node.outputs
                }
            return self.outputs

        self.id = self.store.begin_execution(
            pipeline_name=self.pipeline_name,
            run_id=self.run_id,
            node_id=self.node.id,
            type_name=self.node.type_name,
            base_type=self.node.BASE_TYPE,
            properties={**properties, **self.own_properties},
            inputs=inputs,
            outputs=make_outputs,
            at_least=self._find_free_id() if writes or not self.root.url else 1,
        )
        for artifact in every(self.outputs):
            artifact.uri = self.root.find_path(artifact.uri)
            os.makedirs(output_dir(artifact.uri))
        if self.trackers:
            parameters = {name: v for name, v in properties.items() if name not in OWN_PROPERTIES}
            self._note("step_began", parameters=parameters)

    def publish(self, outputs: ArtifactMap, properties: Mapping[str, Any] | None = None) -> None:
        """Seal the files, write their manifests, then make everything LIVE in one transaction."""
        manifests = []
        for artifact in every(outputs):
            manifests.append(manifest := self._seal(artifact))
            artifact.custom_properties["content_digest"] = manifest.digest
            if isinstance(artifact, ModelRun | ModelEvaluation):
                artifact.custom_properties |= _find_metrics(artifact)
            if not self.root.url:
                manifest.write(manifest_file(artifact.uri))
        if self.root.url:
            self._upload(list(every(outputs)), manifests)
        self.store.publish(self.id, outputs, properties=properties)
        self.outputs = outputs
        self._note("step_ended", state="complete")

    def _seal(self, artifact: Artifact) -> Manifest:
        try:
            return seal(artifact.uri)
        except OSError as error:
            raise StepFailed(
                f"{self.node.id}: its {artifact.type_name} cannot be published: {error}"
            ) from error

    def _upload(self, artifacts: Sequence[Artifact], manifests: Sequence[Manifest]) -> None:
        from stoker.runner.away import publish_there

        publish_there(self.root, artifacts, manifests)

    def adopt(self, outputs: ArtifactMap) -> None:
        """Publish files from outside the pipeline, which stay where they are."""
        self.store.publish(self.id, outputs)
        self.outputs = outputs
        self._note("step_ended", state="complete")

    def refer_to(self, outputs: ArtifactMap) -> None:
        """Give artifacts that earlier runs have published, as a Resolver does."""
        self.store.publish(self.id, outputs, event=EventType.INTERNAL_OUTPUT)
        self.outputs = outputs

    def reuse(self, execution_id: int) -> None:
        """Give the outputs of an earlier execution of the same step: a cache hit."""
        outputs = self.store.outputs(execution_id)
        self.store.publish(self.id, outputs, state=ExecutionState.CACHED)
        self.outputs = outputs
        if self.trackers:
            original = self.store.execution(execution_id).run_id
            self._note("step_ended", state="cached", original=original)

    def _note(self, kind: str, **facts: Any) -> None:
        if self.trackers:
            outputs = describe_outputs(self.outputs)
            step = {"step": self.node.id, "execution": self.id, "outputs": outputs}
            self.trackers.note(kind, **step, **facts)

    def skip(self, why_not: str) -> None:
        """Record that the step is not run."""
        why_not = self.secrets.mask(why_not)
        self.begin({}, {SKIPPED: why_not})
        self.store.close_execution(self.id, ExecutionState.CANCELED, f"Skipped: {why_not}.")
        self._note("step_ended", state=SKIPPED)

    @contextlib.contextmanager
    def close_on_failure(self) -> Iterator[None]:
        """Close the execution if what happens inside does not end well."""
        try:
            yield
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            # The user's own traceback, where there is one, and what the runner says about it.
            texts = (getattr(error, "traceback", ""), str(error) or "Stopped by the user.")
            self.store.be_patient(FEW_SECONDS)
            with add_note_if_unrecorded(error):  # the next run will close it
                self.store.close_execution(
                    self.id,
                    ExecutionState.CANCELED if stopped else ExecutionState.FAILED,
                    self.secrets.mask("\n".join(filter(None, texts))),
                )
            self._note("step_ended", state="canceled" if stopped else "failed")
            raise

    def _find_free_id(self) -> int:
        """One more than the highest number of an output directory: none is ever written twice."""
        numbers = [0]
        if self.root.url:
            from stoker.runner.away import find_numbers

            return max(find_numbers(self.root, self.node)) + 1
        for key in self.node.outputs:
            with contextlib.suppress(FileNotFoundError):
                names = os.listdir(self.root.outputs_dir(self.node.id, key))
                numbers += [int(name) for name in names if name.isdigit()]
        return max(numbers) + 1

    def _make_output(self, key: str, execution_id: int) -> Artifact:
        channel = self.node.outputs[key]
        artifact = channel.type()
        for declared in channel.get():  # old components put properties on the channel's artifact
            artifact.properties |= declared.properties
            artifact.custom_properties |= declared.custom_properties
        artifact.properties |= channel.additional_properties
        artifact.custom_properties |= channel.additional_custom_properties
        is_value = isinstance(artifact, ValueArtifact)
        path = self.root.output_uri(self.node.id, key, execution_id, is_value=is_value)
        artifact.uri = self.root.find_place(path)
        return artifact


def _find_metrics(artifact: Artifact) -> dict[str, Any]:
    from stoker.views.run_metrics import read_last_metrics  # only such artifacts need protobuf

    found = read_last_metrics(artifact)
    return {METRICS: found} if found else {}


@contextlib.contextmanager
def add_note_if_unrecorded(error: BaseException) -> Iterator[None]:
    """Let an error be told, even if the store cannot keep it."""
    try:
        yield
    except StoreError as unrecorded:
        error.add_note(f"This could not be recorded: {unrecorded}")
