# SPDX-License-Identifier: Apache-2.0
"""Steps that run a command in a container of the user's own choice, by docker or podman.

grep = create_container_component(
    name="Grep",
    image="alpine",
    inputs={"text": Text},
    outputs={"found": Text},
    parameters={"pattern": str},
    command=[
        "sh", "-c", 'grep "$0" "$1"/data > "$2"/data', InputValuePlaceholder("pattern"),
        InputUriPlaceholder("text"), OutputUriPlaceholder("found"),
    ],
)

Inputs and outputs are where they are here: their folders are mounted under the same paths.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.artifacts import Artifact, ValueArtifact, every
from stoker.dsl import placeholders
from stoker.dsl.component import (
    BaseComponent,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    Problem,
)
from stoker.dsl.executor import Artifacts, BaseExecutor, ExecutorClassSpec
from stoker.errors import StepFailed

_ENGINES = ("docker", "podman")
_IMAGE, _COMMAND = "container_image", "container_command"
_NO_ENGINE = (
    "it runs in a container, and neither docker nor podman runs here. Start one of them, or write "
    "the step as an executor in Python."
)


@dataclass(frozen=True, slots=True)
class InputUriPlaceholder:
    """Where the files of an input are."""

    input_name: str


@dataclass(frozen=True, slots=True)
class InputValuePlaceholder:
    """The value of a parameter, or of an input that is a value."""

    input_name: str


@dataclass(frozen=True, slots=True)
class OutputUriPlaceholder:
    """Where the files of an output go."""

    output_name: str


@dataclass(frozen=True, slots=True)
class ConcatPlaceholder:
    """Texts and placeholders as one word of the command."""

    items: Sequence[Any]


class ContainerComponent(BaseComponent):
    """A step whose command runs in a container."""

    EXECUTOR_SPEC = ExecutorClassSpec("stoker.components.container:ContainerExecutor")

    @property
    def image(self) -> str:
        """The image that the command runs in."""
        return str(self.spec.exec_properties[_IMAGE])

    def find_lacks(self) -> Iterator[Problem]:
        """That there is no container engine."""
        if find_engine() is None:
            yield Problem(text=_NO_ENGINE)


def create_container_component(
    name: str,
    image: str,
    command: Sequence[Any],
    inputs: Mapping[str, type[Artifact]] | None = None,
    outputs: Mapping[str, type[Artifact]] | None = None,
    parameters: Mapping[str, type] | None = None,
) -> Callable[..., ContainerComponent]:
    """A class of steps that run `command` in `image`; its arguments are the inputs and parameters.

    `command` is a list of words: texts, and the placeholders of this module.
    """
    given_inputs, given_outputs = dict(inputs or {}), dict(outputs or {})
    given_parameters = dict(parameters or {})
    words = [_translate(one, given_inputs, given_outputs, given_parameters) for one in command]
    if not words:
        raise ValueError(f"create_container_component({name!r}): command needs a word at least.")
    table = {
        "INPUTS": {key: ChannelParameter(type=kind) for key, kind in given_inputs.items()},
        "OUTPUTS": {key: ChannelParameter(type=kind) for key, kind in given_outputs.items()},
        "PARAMETERS": {
            **{key: ExecutionParameter(type=kind) for key, kind in given_parameters.items()},
            _IMAGE: ExecutionParameter(type=str),
            _COMMAND: ExecutionParameter(type=list),
        },
    }
    spec_class = type(f"{name}Spec", (ComponentSpec,), table)

    def __init__(self: ContainerComponent, **arguments: Any) -> None:  # noqa: N807
        spec = spec_class(**{**arguments, _IMAGE: image, _COMMAND: words})
        super(component, self).__init__(spec)

    component: type[ContainerComponent] = type(
        name,
        (ContainerComponent,),
        {"__init__": __init__, "__doc__": f"Runs in {image}.", "SPEC_CLASS": spec_class},
    )
    return component


def _translate(
    word: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> Any:
    """A word of a command, as the placeholders of the language say it."""
    match word:
        case str():
            return word
        case ConcatPlaceholder(items):
            parts = [_translate(one, inputs, outputs, parameters) for one in items]
            return placeholders.join(parts)
        case InputUriPlaceholder(key) if key in inputs:
            return placeholders.input(key)[0].uri
        case OutputUriPlaceholder(key) if key in outputs:
            return placeholders.output(key)[0].uri
        case InputValuePlaceholder(key) if key in parameters:
            return placeholders.join([placeholders.exec_property(key)])
        case InputValuePlaceholder(key) if key in inputs:
            return placeholders.join([placeholders.input(key)[0].value])
    known = ", ".join([*inputs, *outputs, *parameters]) or "nothing"
    raise ValueError(
        f"A container's command has the word {word!r}, which is neither text nor a placeholder of "
        f"an input, output or parameter; there is {known}."
    )


class ContainerExecutor(BaseExecutor):
    """Runs the command, with the folders of the artifacts mounted where they are."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Raise if the container ends with another code than 0."""
        engine = find_engine()
        if engine is None:
            raise StepFailed(_NO_ENGINE)
        image = exec_properties[_IMAGE]
        command = [str(word) for word in exec_properties[_COMMAND]]
        words = [
            *(engine, "run", "--rm", "--init", "--user", f"{os.getuid()}:{os.getgid()}"),
            *_mount(every(input_dict), "ro"),
            *_mount(every(output_dict), "rw"),
            *("--entrypoint", command[0], image, *command[1:]),
        ]
        code = subprocess.run(words).returncode
        if code:
            raise StepFailed(f"the container of {image} ended with exit code {code}.")


def _mount(artifacts: Iterable[Artifact], mode: str) -> Iterator[str]:
    for one in artifacts:
        folder = os.path.dirname(one.uri) if isinstance(one, ValueArtifact) else one.uri
        yield from ("--volume", f"{os.path.abspath(folder)}:{os.path.abspath(folder)}:{mode}")


def find_engine() -> str | None:
    """The container engine that runs on this machine, if one does."""
    for name in filter(shutil.which, _ENGINES):
        if subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return name
    return None
