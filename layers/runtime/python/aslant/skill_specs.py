"""What a skill says of itself: version, owner, status, and what it takes and gives, in the words of JSON Schema."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, Protocol, get_type_hints

from pydantic import Field, PydanticUserError, TypeAdapter

from aslant.configs.base import MAYBE, Config, Flag, Text
from aslant.configs.guard import CircuitBreaker, RateLimit
from aslant.contracts import Json
from aslant.errors import SkillNotFound, ValidationError
from aslant.inputs import InputProblem, misfits

FIRST = "1.0.0"  # the version of a skill that says none
_OFFERED = "idempotency_key"  # what a Python skill is given without being asked for it

Version = Annotated[str, Field(pattern=r"^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$"), MAYBE]
SkillName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,127}$"), MAYBE]


class SkillSpec(Config):
    """A skill as it stands in the registry."""

    name: SkillName
    """What definitions call it by."""
    version: Version = FIRST
    """A semantic version. What it takes, gives and calls stays as it is once it is registered."""
    description: Text = ""
    """What it does, for people and for models that may use it as a tool."""
    owner: Text = ""
    """Who answers for it."""
    status: Literal["active", "inactive", "deprecated"] = "active"
    """A deprecated one is called with a warning, an inactive one not at all."""
    target: Text = ""
    """The ARN of a Lambda function, or of a container's task definition, or an https address; empty for a Python function of
    the installation, and with `code`."""
    code: Text = ""
    """Python text that defines `execute`, which is called with the arguments, in the sandbox of scripts."""
    parameters: dict[str, Any] | None = None
    """The JSON Schema of its arguments, an object's; without it any arguments are taken."""
    returns: dict[str, Any] | None = None
    """The JSON Schema of what it returns."""
    pure: Flag = False
    """Whether it has no side effect, so that its results may be cached."""
    rate_limit: RateLimit | None = None
    """How often it may be called, by all workflows of a tenant together."""
    circuit_breaker: CircuitBreaker | None = None
    """When calls stop for a while because it fails."""

    @property
    def contract(self) -> dict[str, Json]:
        """What must stay the same as long as the version does."""
        return self.model_dump(mode="json", include={"target", "code", "parameters", "returns"})


class SkillStore(Protocol):
    """The registry of skills in the catalog."""

    def put(self, tenant: str, spec: SkillSpec, before: SkillSpec | None = None) -> None:
        """Registers a version, or changes its status and words. Raises ConflictError for another contract.

        With `before` it is that one which is changed; raises PreconditionFailed when it is not there any more.
        """

    def of(self, tenant: str, name: str) -> list[SkillSpec]:
        """All versions of a skill."""

    def all(self, tenant: str) -> list[SkillSpec]:
        """All versions of all skills, by name, the oldest version first."""


def registration(written: Mapping[str, Json]) -> dict[str, Json]:
    """A specification from how custom agents are registered: `agent_name`, `tool_specification` with `parameters` by name and
    `returns`, and an `implementation` of type python_function (`code`), api_endpoint (`url`) or docker_container
    (`task_definition`). Another mapping stays as it is.

    Raises ValidationError for an implementation that is none of these.
    """
    if "agent_name" not in written and "implementation" not in written and "tool_specification" not in written:
        return dict(written)
    given = {key: value for key, value in written.items() if key not in ("agent_name", "tool_specification", "implementation")}
    if "agent_name" in written:
        given["name"] = written["agent_name"]
    tool, how = written.get("tool_specification") or {}, written.get("implementation") or {}
    if not isinstance(tool, Mapping) or not isinstance(how, Mapping) or not isinstance(tool.get("parameters", {}), Mapping):
        raise ValidationError("tool_specification, its parameters, and implementation are mappings")
    if "parameters" in tool:
        rows = tool["parameters"]
        named = rows.get("type") != "object" or not isinstance(rows.get("properties"), Mapping)
        of_names = {"type": "object", "properties": dict(rows), "additionalProperties": False}
        given["parameters"] = of_names if named else dict(rows)
    if "returns" in tool:
        given["returns"] = tool["returns"]
    match how.get("type"):
        case "python_function":
            given["code"] = how.get("code", "")
        case "api_endpoint":
            given["target"] = how.get("url", "")
        case "docker_container":
            given["target"] = how.get("task_definition", "")
            if not is_task_definition(given["target"]):
                raise ValidationError("a container runs as a task of ECS: implementation.task_definition is its ARN there")
        case _:
            raise ValidationError("implementation.type is python_function, api_endpoint or docker_container")
    return given


def is_task_definition(target: object) -> bool:
    """`arn:aws:ecs:<region>:<account>:task-definition/<family>[:<revision>]`."""
    pattern = r"arn:aws[a-z-]*:ecs:[^:]*:[0-9]*:task-definition/[\w-]+(:[0-9]+)?"
    return isinstance(target, str) and re.fullmatch(pattern, target) is not None


def complete(spec: SkillSpec, given: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments with the defaults of the specification."""
    rows = (spec.parameters or {}).get("properties") or {}
    return {**{name: row["default"] for name, row in rows.items() if "default" in row and name not in given}, **given}


def key_of(version: str) -> tuple[int, ...]:
    """What versions are ordered by."""
    return tuple(int(part) for part in version.split("."))


def pick(name: str, specs: Iterable[SkillSpec], version: str | None = None) -> SkillSpec | None:
    """The newest version that may be called and begins with `version` (`2`, `2.1`, `2.1.0`); None when there is no skill.

    An active one goes before a deprecated one. Raises SkillNotFound when no version may be called.
    """
    known = sorted(specs, key=lambda spec: key_of(spec.version), reverse=True)
    if not known:
        return None
    fitting = [spec for spec in known if version is None or f"{spec.version}.".startswith(f"{version}.")]
    callable_ = [spec for spec in fitting if spec.status != "inactive"]
    if callable_:
        return next((spec for spec in callable_ if spec.status == "active"), callable_[0])
    if fitting:
        owner = f"; {fitting[0].owner} answers for it" if fitting[0].owner else ""
        raise SkillNotFound(f"the skill {name} {fitting[0].version} is inactive{owner}")
    raise SkillNotFound(f"the skill {name} has no version {version}; there are {', '.join(one.version for one in known)}")


def argument_problems(spec: SkillSpec, given: Mapping[str, Json], unknown: Collection[str] = ()) -> list[InputProblem]:
    """What is wrong with a call's arguments. `unknown` are names of further ones, whose values are not known yet."""
    if spec.parameters is None:
        return []
    schema = spec.parameters
    found = misfits(schema, dict(given), "arguments")
    late = {f"/{name}" for name in unknown}
    problems = [each for each in found if each.pointer not in late]
    known = schema.get("properties") or {}
    if schema.get("additionalProperties") is False:
        extra = [name for name in unknown if name not in known]
        problems += [each for each in misfits(schema, dict.fromkeys(extra), "arguments") if each.pointer.lstrip("/") in extra]
    return [each._replace(message=_readable(each.message, known)) for each in problems]


def _readable(message: str, known: Collection[str]) -> str:
    if not message.startswith("arguments has no property"):
        return message.replace("arguments.", "", 1)
    message = message.replace("arguments has no property", "there is no parameter", 1)
    return message if known else f"{message}; it takes none"


def check_arguments(spec: SkillSpec, given: Mapping[str, Json], clean: Callable[[Json], Json] = lambda value: value) -> None:
    """Raises ValidationError for arguments that the skill does not take. `clean` takes secrets out of what is shown."""
    if argument_problems(spec, given):
        shown = [each.message for each in argument_problems(spec, clean(dict(given)))] or ["the arguments do not fit"]
        raise ValidationError(f"skill {spec.name}: {'; '.join(shown)}")


def check_result(spec: SkillSpec, value: Json, clean: Callable[[Json], Json] = lambda value: value) -> None:
    """Raises ValidationError for a result that is none of the kind that the skill says it gives."""
    if spec.returns is None:
        return
    if misfits(spec.returns, value, "its result"):
        shown = [each.message for each in misfits(spec.returns, clean(value), "its result")] or ["its result does not fit"]
        raise ValidationError(f"skill {spec.name} {spec.version}: {'; '.join(shown)}")


def schema_problem(schema: Mapping[str, Json] | None, what: str) -> str | None:
    """Why a JSON Schema cannot be used, or None."""
    if schema is None:
        return None
    kind = schema.get("type", "object" if what == "parameters" else None)
    if what == "parameters" and kind != "object":
        return "parameters are an object's schema: `type: object` with `properties`"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(each, Mapping) for each in properties.values()):
        return f"the properties of {what} are schemas by name"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return f"`required` of {what} is a list of names"
    pattern = next((each["pattern"] for each in properties.values() if isinstance(each.get("pattern"), str)), None)
    if pattern is not None:
        import re2

        try:
            re2.compile(pattern)
        except re2.error:
            return f"the pattern {pattern!r} of {what} cannot be read"
    return None


def spec_of(name: str, function: Callable[..., Any], **given: Any) -> SkillSpec:
    """The specification of a Python function: what is not given is read off its signature and docstring."""
    if "description" not in given:
        text = inspect.getdoc(function) if inspect.isroutine(function) else ""
        given["description"] = re.split(r"\n\s*\n", text or "", maxsplit=1)[0].replace("\n", " ")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return SkillSpec(name=name, **given)
    try:
        hints = get_type_hints(function)
    except Exception:  # noqa: BLE001 - hints are code of the skill's author, who may mean them for another tool
        hints = {}
    if "parameters" not in given:
        given["parameters"] = _parameters(signature, hints)
    if "returns" not in given and "return" in hints:
        given["returns"] = _schema(hints["return"], "serialization") or None
    return SkillSpec(name=name, **given)


def _parameters(signature: inspect.Signature, hints: Mapping[str, Any]) -> dict[str, Json] | None:
    properties: dict[str, Json] = {}
    required = []
    extra = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            return None  # it cannot be called by name at all, and says so itself
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            properties[name] = _schema(hints[name], "validation") if name in hints else {}
            if parameter.default is not parameter.empty:
                if isinstance(parameter.default, str | int | float | bool):
                    properties[name] = properties[name] | {"default": parameter.default}
                elif parameter.default is None and properties[name]:  # `x: int = None`, as many write it
                    properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
            elif name != _OFFERED:
                required.append(name)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return schema if extra else schema | {"additionalProperties": False}


def _schema(hint: Any, mode: Literal["validation", "serialization"]) -> dict[str, Json]:
    """The JSON Schema of a type hint; empty, which takes any value, where there is none."""
    try:
        return TypeAdapter(hint).json_schema(mode=mode)
    except (PydanticUserError, TypeError, ValueError, NameError):
        return {}


def as_text(target: Any) -> str:
    """How a target is shown."""
    return target if isinstance(target, str) else f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"


