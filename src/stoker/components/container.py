# SPDX-License-Identifier: Apache-2.0
"""Steps that run a command in a container of the user's own choice.

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

An `ExecutorContainerSpec` says the same of any component. The container is started by docker or
podman, or as a pod beside the step's own in Kubernetes; inputs and outputs are where they are here.
"""

import os
import re
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
_IMAGE, _COMMAND, _ARGS = "container_image", "container_command", "container_args"
_NO_ENGINE = (
    "it runs in a container, and neither docker nor podman runs here, nor is this a pod. Start one "
    "of them, or write the step as an executor in Python."
)
_TEMPLATE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_KEY = r"""(?:\.(\w+)|\[\s*["']([^"']+)["']\s*\])"""
_PARAMETER = re.compile(rf"exec_properties{_KEY}")
_ARTIFACT = re.compile(rf"(input|output)_dict{_KEY}\[\s*0\s*\]\.(uri|value)")


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


class ExecutorContainerSpec(ExecutorClassSpec):
    """Names the image that a component's command runs in.

    Words are texts, which may hold {{input_dict["key"][0].uri}}, {{output_dict["key"][0].uri}} and
    {{exec_properties.name}}, or placeholders, of this module or of the language.
    """

    def __init__(
        self, image: str, command: Sequence[Any] | None = None, args: Sequence[Any] | None = None
    ) -> None:
        """Without `command` it is the image's own that is given `args`."""
        super().__init__("stoker.components.container:ContainerExecutor")
        if not image:
            raise ValueError(f"{type(self).__name__}(image=…) names an image, got {image!r}.")
        words = {
            "image": image,
            "command": [command] if isinstance(command, str) else list(command or ()),
            "args": list(args or ()),
        }
        vars(self).update(words)  # the class is frozen

    image: str
    command: list[Any]
    args: list[Any]

    def make_parameters(self, spec: ComponentSpec) -> dict[str, Any]:
        """The image and the words of the command, as placeholders of the language say them."""
        return {
            _IMAGE: self.image,
            _COMMAND: [_translate(word, spec) for word in self.command],
            _ARGS: [_translate(word, spec) for word in self.args],
        }

    def find_lacks(self) -> Iterator[Problem]:
        """That there is nothing to start a container with."""
        from stoker.launchers.pods import Cluster  # loads what speaks HTTP

        if find_engine() is None and Cluster.here() is None:
            yield Problem(text=_NO_ENGINE)


class TemplatedExecutorContainerSpec(ExecutorContainerSpec):
    """ExecutorContainerSpec, by the name that TFX has for commands with placeholders."""


def create_container_component(
    name: str,
    image: str,
    command: Sequence[Any],
    inputs: Mapping[str, type[Artifact]] | None = None,
    outputs: Mapping[str, type[Artifact]] | None = None,
    parameters: Mapping[str, type] | None = None,
) -> Callable[..., BaseComponent]:
    """A class of steps that run `command` in `image`; its arguments are the inputs and parameters.

    `command` is a list of words: texts, and the placeholders of this module.
    """
    table = {
        "INPUTS": {key: ChannelParameter(type=kind) for key, kind in (inputs or {}).items()},
        "OUTPUTS": {key: ChannelParameter(type=kind) for key, kind in (outputs or {}).items()},
        "PARAMETERS": {
            key: ExecutionParameter(type=kind) for key, kind in (parameters or {}).items()
        },
    }
    spec_class: type[ComponentSpec] = type(f"{name}Spec", (ComponentSpec,), table)
    executor_spec = TemplatedExecutorContainerSpec(image, command)
    if not executor_spec.command:
        raise ValueError(f"create_container_component({name!r}): command needs a word at least.")
    for word in executor_spec.command:
        _translate(word, spec_class)

    def __init__(self: BaseComponent, **arguments: Any) -> None:  # noqa: N807
        BaseComponent.__init__(self, spec_class(**arguments))

    component: type[BaseComponent] = type(
        name,
        (BaseComponent,),
        {
            "__init__": __init__,
            "__doc__": f"Runs in {image}.",
            "SPEC_CLASS": spec_class,
            "EXECUTOR_SPEC": executor_spec,
        },
    )
    return component


def _translate(word: Any, spec: ComponentSpec | type[ComponentSpec]) -> Any:
    """A word of a command, as the placeholders of the language say it."""
    match word:
        case str():
            return _translate_templates(word, spec)
        case placeholders.Placeholder():
            return word
        case ConcatPlaceholder(items):
            return placeholders.join([_translate(one, spec) for one in items])
        case InputUriPlaceholder(key) if key in spec.INPUTS:
            return placeholders.input(key)[0].uri
        case OutputUriPlaceholder(key) if key in spec.OUTPUTS:
            return placeholders.output(key)[0].uri
        case InputValuePlaceholder(key) if key in spec.PARAMETERS:
            return placeholders.join([placeholders.exec_property(key)])
        case InputValuePlaceholder(key) if key in spec.INPUTS:
            return placeholders.join([placeholders.input(key)[0].value])
    known = ", ".join([*spec.INPUTS, *spec.OUTPUTS, *spec.PARAMETERS]) or "nothing"
    raise ValueError(
        f"A container's command has the word {word!r}, which is neither text nor a placeholder of "
        f"an input, output or parameter; there is {known}."
    )


def _translate_templates(text: str, spec: ComponentSpec | type[ComponentSpec]) -> Any:
    """A text in which {{…}} stands for what is known when the step runs."""
    texts = _TEMPLATE.split(text)  # with what stands between braces as every second one
    if len(texts) == 1:
        return text
    return placeholders.join(
        [
            _read_expression(part, spec) if number % 2 else part
            for number, part in enumerate(texts)
            if part
        ]
    )


def _read_expression(text: str, spec: ComponentSpec | type[ComponentSpec]) -> Any:
    if found := _PARAMETER.fullmatch(text):
        return _translate(InputValuePlaceholder(found[1] or found[2]), spec)
    found = _ARTIFACT.fullmatch(text)
    key = found and (found[2] or found[3])
    match found and (found[1], found[4]):
        case ("input", "uri"):
            return _translate(InputUriPlaceholder(str(key)), spec)
        case ("input", "value"):
            return _translate(InputValuePlaceholder(str(key)), spec)
        case ("output", "uri"):
            return _translate(OutputUriPlaceholder(str(key)), spec)
    raise ValueError(
        f"A container's command has {{{{{text}}}}}. Use {{{{exec_properties.name}}}}, "
        '{{input_dict["key"][0].uri}} and {{output_dict["key"][0].uri}}.'
    )


class ContainerExecutor(BaseExecutor):
    """Runs the command, with the folders of the artifacts mounted where they are."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Raise if the container ends with another code than 0."""
        from stoker.launchers.pods import Cluster, run_pod

        image = exec_properties[_IMAGE]
        command = [str(word) for word in exec_properties[_COMMAND]]
        args = [str(word) for word in exec_properties[_ARGS]]
        if engine := find_engine():
            options = [*_mount(every(input_dict), "ro"), *_mount(every(output_dict), "rw")]
            code = subprocess.run(_make_words(engine, options, image, command, args)).returncode
        elif cluster := Cluster.here():
            folders = [_find_folder(one) for one in (*every(input_dict), *every(output_dict))]
            code = run_pod(cluster, image=image, command=command, args=args, folders=folders)
        else:
            raise StepFailed(_NO_ENGINE)
        if code:
            raise StepFailed(f"the container of {image} ended with exit code {code}.")


def _make_words(
    engine: str, options: Sequence[str], image: str, command: Sequence[str], args: Sequence[str]
) -> list[str]:
    """What the engine is started with; without a command the image's own is run."""
    user = f"{os.getuid()}:{os.getgid()}"
    entrypoint = ["--entrypoint", command[0]] if command else []
    return [
        *(engine, "run", "--rm", "--init", "--user", user, *options, *entrypoint),
        *(image, *command[1:], *args),
    ]


def _mount(artifacts: Iterable[Artifact], mode: str) -> Iterator[str]:
    for one in artifacts:
        folder = _find_folder(one)
        yield from ("--volume", f"{folder}:{folder}:{mode}")


def _find_folder(artifact: Artifact) -> str:
    is_value = isinstance(artifact, ValueArtifact)
    return os.path.abspath(os.path.dirname(artifact.uri) if is_value else artifact.uri)


def find_engine() -> str | None:
    """The container engine that runs on this machine, if one does."""
    for name in filter(shutil.which, _ENGINES):
        if subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return name
    return None
