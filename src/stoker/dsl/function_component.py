# SPDX-License-Identifier: Apache-2.0
"""Components written as one function, with their table read from its annotations.

@component
def score(
    model: InputArtifact[Model],
    report: OutputArtifact[ModelEvaluation],
    threshold: Parameter[float] = 0.5,
) -> OutputDict(passed=int): ...

score(model=trainer.outputs["model"], threshold=0.9)

With `@component(use_beam=True)` an argument `BeamComponentParameter[beam.Pipeline] = None` is a
pipeline of Apache Beam, made with the flags of the pipeline.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from stoker.any_python.lines import describe_unknown_argument
from stoker.artifacts import (
    Artifact,
    Boolean,
    Bytes,
    Float,
    Integer,
    JsonValue,
    String,
    ValueArtifact,
)
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, ChannelParameter, ComponentSpec, ExecutionParameter
from stoker.dsl.executor import Artifacts, BaseExecutor, ExecutorClassSpec, reference_to
from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.placeholders import Placeholder

__all__ = [
    "BeamComponentParameter",
    "FunctionComponent",
    "FunctionExecutor",
    "InputArtifact",
    "OutputArtifact",
    "OutputDict",
    "Parameter",
    "component",
]

_VALUE_TYPES: dict[Any, type[ValueArtifact]] = {
    int: Integer,
    float: Float,
    str: String,
    bytes: Bytes,
    bool: Boolean,
    list: JsonValue,
    dict: JsonValue,
}


@dataclass(frozen=True)
class _Annotation:
    role: str
    type: Any

    def __or__(self, other: Any) -> Any:
        """`InputArtifact[Model] | None`, as Optional says it."""
        return typing.Union[self, other]  # noqa: UP007


class _Role:
    """`InputArtifact[Model]` and its like: a role with a type in brackets."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __getitem__(self, kind: Any) -> _Annotation:
        return _Annotation(self._name, kind)


if typing.TYPE_CHECKING:
    T = typing.TypeVar("T")
    BeamComponentParameter = typing.Annotated[T, "beam pipeline"]
    InputArtifact = typing.Annotated[T, "input"]
    OutputArtifact = typing.Annotated[T, "output"]
    Parameter = typing.Annotated[T, "parameter"]
else:
    BeamComponentParameter = _Role("BeamComponentParameter")
    InputArtifact = _Role("InputArtifact")
    OutputArtifact = _Role("OutputArtifact")
    Parameter = _Role("Parameter")


def OutputDict(**outputs: Any) -> Any:
    """The annotation of a function that returns values by name: `-> OutputDict(accuracy=float)`."""
    return typing.TypedDict("OutputDict", outputs)  # type: ignore[operator]


@dataclass(frozen=True)
class _Signature:
    """A function's table: which arguments are what, and which values it returns."""

    inputs: dict[str, type[Artifact]]
    lists: frozenset[str]
    """The inputs that are all artifacts of a channel, and not the only one."""
    values: dict[str, type[ValueArtifact]]
    outputs: dict[str, type[Artifact]]
    parameters: dict[str, Any]
    beam_pipelines: list[str]
    defaults: dict[str, Any]
    returns: dict[str, type[ValueArtifact]]
    may_be_none: frozenset[str]


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """`Optional[X]` as X and True; anything else as it is and False."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [one for one in typing.get_args(annotation) if one is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False


def _value_type(annotation: Any) -> type[ValueArtifact] | None:
    """The artifact of a value; of several types together, such as `dict | list`, it is JSON."""
    bare, _ = _without_none(annotation)
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        kinds = {_value_type(one) for one in typing.get_args(bare) if one is not type(None)}
        return None if kinds & {None, Bytes} else JsonValue
    return _VALUE_TYPES.get(typing.get_origin(bare) or bare)


def _is_artifact(kind: Any) -> bool:
    bare = kind.type if isinstance(kind, _Annotation) else kind
    return isinstance(bare, type) and issubclass(bare, Artifact)


def _is_typed_dict(annotation: Any) -> bool:
    """Whether it is one of typing's, or of typing_extensions', which typing does not know."""
    return typing.is_typeddict(annotation) or hasattr(annotation, "__required_keys__")


def _is_named_tuple(annotation: Any) -> bool:
    return (
        isinstance(annotation, type)
        and issubclass(annotation, tuple)
        and (hasattr(annotation, "_fields"))
    )


def _artifact_of(where: str, kind: Any) -> type[Artifact]:
    if isinstance(kind, type) and issubclass(kind, Artifact):
        return kind
    raise ValueError(f"{where} takes an artifact class in brackets, got {kind!r}.")


def _read_signature(function: Callable[..., Any]) -> _Signature:
    hints = inspect.get_annotations(function, eval_str=True)
    inputs, outputs, parameters, values, defaults = {}, {}, {}, {}, {}
    lists, beam_pipelines = set(), []
    for name, argument in inspect.signature(function).parameters.items():
        where = f"@component {function.__name__}: {name!r}"
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD) or name not in hints:
            raise ValueError(
                f"{where} needs an annotation: InputArtifact[…], OutputArtifact[…], Parameter[…] "
                "or int, float, str, bytes, bool, list, dict."
            )
        if argument.default is not argument.empty:
            defaults[name] = argument.default
        annotation, _ = _without_none(hints[name])
        match annotation:
            case _Annotation("InputArtifact", kind) if typing.get_origin(kind) is list:
                inputs[name] = _artifact_of(where, *typing.get_args(kind))
                lists.add(name)
            case _Annotation("InputArtifact", kind):
                inputs[name] = _artifact_of(where, kind)
            case _Annotation("OutputArtifact", kind):
                outputs[name] = _artifact_of(where, kind)
            case _Annotation("Parameter", kind):
                parameters[name] = _without_none(kind)[0]
            case _Annotation("BeamComponentParameter"):
                beam_pipelines.append(name)
            case _ if value_type := _value_type(annotation):
                values[name] = value_type
            case _:
                raise ValueError(
                    f"{where} has an annotation that is no input: {annotation!r}."
                    " Use InputArtifact[…], OutputArtifact[…] or Parameter[…]."
                )
    returns, may_be_none = _read_returns(function, hints.get("return"))
    return _Signature(
        inputs=inputs,
        lists=frozenset(lists),
        values=values,
        outputs=outputs,
        parameters=parameters,
        beam_pipelines=beam_pipelines,
        defaults=defaults,
        returns=returns,
        may_be_none=may_be_none,
    )


def _read_returns(
    function: Callable[..., Any], annotation: Any
) -> tuple[dict[str, type[ValueArtifact]], frozenset[str]]:
    if annotation in (None, type(None)):
        return {}, frozenset()
    if not (_is_typed_dict(annotation) or _is_named_tuple(annotation)):
        raise ValueError(
            f"@component {function.__name__} returns {annotation!r}; "
            "write -> OutputDict(name=type, …), a TypedDict or a NamedTuple, or None."
        )
    kinds, returns = typing.get_type_hints(annotation), {}
    for name, kind in kinds.items():
        value_type = _value_type(kind)
        if value_type is None and _is_artifact(kind):
            raise ValueError(
                f"@component {function.__name__}: {name!r} is an artifact, which is no value to "
                f"return: write it as an argument, {name}: OutputArtifact[…]."
            )
        if value_type is None:
            raise ValueError(
                f"@component {function.__name__}: cannot return {name!r}: {kind!r}."
                " Return int, float, str, bytes, bool, list or dict."
            )
        returns[name] = value_type
    return returns, frozenset(name for name, kind in kinds.items() if _without_none(kind)[1])


class FunctionExecutor(BaseExecutor):
    """Calls the function of a FunctionComponent."""

    def __init__(
        self, function_component: "FunctionComponent", context: BaseExecutor.Context | None = None
    ) -> None:
        super().__init__(context)
        self._component = function_component

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Call the function with artifacts, values and parameters, and keep what it returns."""
        signature = self._component.signature
        arguments: dict[str, Any] = {**signature.defaults, **exec_properties}
        for name in (*signature.inputs, *signature.values):
            found = input_dict.get(name)
            if name in signature.lists:
                arguments[name] = list(found or ())
            elif found:
                arguments[name] = self._read(name, found)
        for name in signature.outputs:
            arguments[name] = output_dict[name][0]
        for name in signature.beam_pipelines:
            arguments[name] = self._make_beam_pipeline()
        returned = self._component.function(**arguments)
        is_tuple = isinstance(returned, tuple) and hasattr(returned, "_asdict")
        self._keep(returned._asdict() if is_tuple else returned, output_dict)

    def _read(self, name: str, found: list[Artifact]) -> Any:
        """The artifact of an input, or what it holds."""
        if len(found) > 1:
            raise ValueError(
                f"@component {self._component.function.__name__}: {name!r} got {len(found)} "
                f"artifacts. For all of them, write {name}: InputArtifact[list[…]]; to go through "
                "them, make the step inside `with ForEach(…) as each:`."
            )
        is_value = name in self._component.signature.values
        return typing.cast("ValueArtifact", found[0]).read() if is_value else found[0]

    def _keep(self, returned: Any, output_dict: Artifacts) -> None:
        signature, name = self._component.signature, self._component.function.__name__
        if not signature.returns:
            return
        if not isinstance(returned, dict):
            raise ValueError(
                f"@component {name} should return a dict with "
                f"{', '.join(signature.returns)}; it returned {returned!r}."
            )
        for key in signature.returns:
            value = returned.get(key)
            if value is not None or key in signature.may_be_none:
                typing.cast("ValueArtifact", output_dict[key][0]).write(value)
            else:
                raise ValueError(
                    f"@component {name} did not return {key!r}; if it may be missing, "
                    f"annotate it with Optional[…]."
                )


class FunctionComponent:
    """What `@component` makes of a function: call it with channels to get a step."""

    def __init__(self, function: Callable[..., Any], *, use_beam: bool = False) -> None:
        if "<locals>" in function.__qualname__:
            reference_to(function)  # raises, and says why
        self.function = function
        self.signature = _read_signature(function)
        if use_beam and not self.signature.beam_pipelines:
            raise ValueError(
                f"@component(use_beam=True) {function.__name__} takes no pipeline: give it an "
                "argument `pipeline: BeamComponentParameter[beam.Pipeline] = None`."
            )
        self._class = _make_component_class(self)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__

    def __call__(self, *unnamed: Any, **given: Any) -> BaseComponent:
        """A step of a pipeline that will call the function."""
        if unnamed:
            raise ValueError(
                f"{self.__name__}() takes keyword arguments only, so that a pipeline reads well."
                " Name each of them."
            )
        return self._class(**given)

    def __getattr__(self, name: str) -> Any:
        """What the step's class has: SPEC_CLASS, EXECUTOR_SPEC."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._class, name)

    @property
    def test_call(self) -> Callable[..., Any]:
        """The function itself, for a test that calls it without a pipeline."""
        return self.function


def _make_component_class(made_of: FunctionComponent) -> type[BaseComponent]:
    function, signature = made_of.function, made_of.signature
    defaults = signature.defaults
    spec_class = type(
        f"{function.__name__}Spec",
        (ComponentSpec,),
        {
            "INPUTS": {
                name: ChannelParameter(type=kind, optional=name in defaults)
                for name, kind in {**signature.inputs, **signature.values}.items()
            },
            "OUTPUTS": {
                name: ChannelParameter(type=kind)
                for name, kind in {**signature.outputs, **signature.returns}.items()
            },
            "PARAMETERS": {
                name: ExecutionParameter(type=kind, optional=name in defaults)
                for name, kind in signature.parameters.items()
            },
        },
    )

    class Step(BaseComponent):
        SPEC_CLASS: ClassVar = spec_class
        EXECUTOR_SPEC: ClassVar = ExecutorClassSpec(function)
        USES_BEAM: ClassVar = bool(signature.beam_pipelines)

        def __init__(self, instance_name: str | None = None, **given: Any) -> None:
            plain = {
                name: given[name]
                for name in signature.values
                if name in given and not isinstance(given[name], Channel)
            }
            table = _move_to_parameters(spec_class, plain) if plain else spec_class
            super().__init__(table(**given), instance_name=instance_name)

    Step.__name__ = Step.__qualname__ = function.__name__
    Step.__module__ = function.__module__
    Step.__doc__ = function.__doc__
    return Step


def _move_to_parameters(
    spec_class: type[ComponentSpec], plain: dict[str, Any]
) -> type[ComponentSpec]:
    """The table of a step some of whose inputs are given as plain values instead of channels."""
    moved = {
        name: ExecutionParameter(
            type=Any if isinstance(value, RuntimeParameter | Placeholder) else type(value),
            optional=True,
        )
        for name, value in plain.items()
    }
    return type(
        spec_class.__name__,
        (spec_class,),
        {
            "INPUTS": {key: row for key, row in spec_class.INPUTS.items() if key not in plain},
            "PARAMETERS": {**spec_class.PARAMETERS, **moved},
        },
    )


@typing.overload
def component(function: Callable[..., Any], /) -> FunctionComponent: ...
@typing.overload
def component(**options: Any) -> Callable[[Callable[..., Any]], FunctionComponent]: ...
def component(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> FunctionComponent | Callable[[Callable[..., Any]], FunctionComponent]:
    """Make a component of a function; its annotations say what it reads and writes."""
    known = ("component_annotation", "use_beam")
    if unknown := sorted(set(options) - set(known)):
        raise TypeError(describe_unknown_argument("@component", unknown[0], known))
    make = functools.partial(FunctionComponent, use_beam=options.get("use_beam", False))
    return make(function) if function else make
