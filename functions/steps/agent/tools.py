"""Skills as tools of a model: what it is told of them, and what their calls give."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aslant import skill_calls, skills
from aslant.configs.agent import Tool
from aslant.contracts import Json
from aslant.errors import SkillNotFound, ValidationError
from aslant.http_ports import Http
from aslant.inputs import misfits
from aslant.model_ports import ModelTool, ToolCall, ToolResult
from aslant.ports import Functions
from aslant.skill_specs import SkillSpec
from aslant.step import StepRun
from aslant.values import compact, render

_NAME = re.compile(r"[^A-Za-z0-9_-]")  # what Bedrock and OpenAI do not take in a tool's name
_MAX_RESULT = 50_000                   # characters of a result that the model gets
_ANYTHING: Mapping[str, Json] = {"type": "object"}


class _Known(NamedTuple):
    skill: str
    target: skills.Target
    spec: SkillSpec | None
    tool: ModelTool


@dataclass(slots=True)
class Toolbox:
    """The tools of one step, by the names that the model knows. Only these can be called, whatever the model writes."""

    run: StepRun
    http: Callable[[], Http]
    functions: Callable[[], Functions]
    known: dict[str, _Known] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(
        given: Sequence[str | Tool], run: StepRun, http: Callable[[], Http], functions: Callable[[], Functions]
    ) -> Toolbox:
        """Raises SkillNotFound for a skill that nobody registered (it is left out under simulation), ValidationError for one
        whose arguments nobody knows."""
        box = Toolbox(run, http, functions)
        for each in given:
            tool = Tool(skill=each) if isinstance(each, str) else each
            try:
                target, spec = skill_calls.lookup(tool.skill, run.settings, run.tenant, tool.version)
            except SkillNotFound:
                if not run.settings.simulate:
                    raise
                continue
            spec = spec or skills.described(tool.skill, target)
            name = _NAME.sub("_", tool.skill)[:64]
            if name in box.known:
                raise ValidationError(f"two tools are called {name}")
            parameters = tool.parameters if tool.parameters is not None else _parameters(tool.skill, target, spec)
            words = tool.description or (spec.description if spec is not None else "")
            box.known[name] = _Known(tool.skill, target, spec, ModelTool(name, words, parameters))
        return box

    @property
    def tools(self) -> list[ModelTool]:
        return [known.tool for known in self.known.values()]

    def call(self, call: ToolCall) -> ToolResult:
        """What the tool gave. A failure is told to the model, which may know another way."""
        if call.name not in self.known:
            return ToolResult(call.id, f"there is no tool {call.name}", failed=True)
        skill, target, spec, tool = self.known[call.name]
        problems = misfits({"type": "object", **tool.parameters}, call.arguments, "the arguments")
        if problems:
            return ToolResult(call.id, "; ".join(problem.message for problem in problems[:5]), failed=True)
        try:
            value = skill_calls.call(
                skill, target, call.arguments, self.run, self.http, self.functions, key=self._key(call), spec=spec
            )
            text = render(value)
        except Exception as error:  # noqa: BLE001 - a skill may raise any class
            return ToolResult(call.id, self.run.redactor.text(f"{type(error).__name__}: {error}")[:2000], failed=True)
        return ToolResult(call.id, text if len(text) <= _MAX_RESULT else f"{text[:_MAX_RESULT]}… (cut off)")

    def _key(self, call: ToolCall) -> str:
        """The same when an attempt after this one makes the same call for the same time."""
        text = f"{call.name} {compact(call.arguments)}"
        self.made[text] = self.made.get(text, 0) + 1
        digest = hashlib.sha256(f"{text} {self.made[text]}".encode("utf-8", "replace")).hexdigest()[:16]
        return f"{self.run.idempotency_key}-{digest}"


def _parameters(name: str, target: skills.Target, spec: SkillSpec | None) -> Mapping[str, Json]:
    """The JSON Schema of a skill's arguments; any object for one elsewhere that says nothing of itself."""
    if spec is None or spec.parameters is None:
        if isinstance(target, str):
            return _ANYTHING
        raise ValidationError(f"the arguments of the skill {name} are not known; give the tool `parameters`")
    # The key is given by the step, whatever the model thinks.
    rows = {key: row for key, row in spec.parameters.get("properties", {}).items() if key != "idempotency_key"}
    return {**spec.parameters, "properties": rows}
