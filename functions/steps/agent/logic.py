"""A question to a language model, the tools that it calls, and its answer in the format that was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aslant import keys
from aslant.configs.agent import AgentConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ModelError, NotFoundError, ValidationError
from aslant.http_ports import Http
from aslant.model_ports import ModelAnswer, ModelEndpoint, ModelMessage, ModelRequest, Models, Spending
from aslant.ports import Artifacts, Events, Functions, Secrets
from aslant.settings import OFFLINE, Settings
from aslant.step import StepRun, result
from aslant.values import compact, read_json, render, whole_text
from functions.steps.agent.metering import Meter

if TYPE_CHECKING:
    from functions.steps.agent.progress import Progress
    from functions.steps.agent.tools import Toolbox

_DEFAULT_ALIAS = "claude-sonnet"
_ELSEWHERE = "openai:"
_MAX_TEMPLATE = 200_000  # bytes
_SHOWN = 5  # problems of an answer that the model is told
_FENCE = re.compile(r"```[a-zA-Z]*[ \t\r]*\n(.*?)```", re.DOTALL)
_HOLE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")
_FORMATS = {
    "json": "Answer with one JSON value and nothing else: no explanation, no code fence.",
    "json_array": "Answer with one JSON array and nothing else: no explanation, no code fence.",
    "markdown": "Answer in Markdown.",
}


@dataclass(frozen=True, slots=True)
class Ports:
    """Each is made only when it is needed; models are those of Bedrock where there is no endpoint."""

    models: Callable[[ModelEndpoint | None], Models]
    secrets: Callable[[], Secrets]
    artifacts: Callable[[], Artifacts]
    spending: Callable[[], Spending]
    events: Callable[[], Events]
    http: Callable[[], Http]
    functions: Callable[[], Functions]


def ask(config: AgentConfig, run: StepRun, ports: Ports) -> StepResult:
    """The answer as the output: a text, or the parsed JSON. `usage` counts the tokens, calls and cost of all calls.

    Tools that the model calls are run, and it is asked on. An answer that is no JSON, or does not fit the schema, is sent
    back to be put right. Raises ModelError when that does not help, when the answer was cut off, and when the model only
    goes on calling tools; BudgetExceeded.
    """
    model = model_id(config, run.settings)
    endpoint = endpoint_of(config, model, run, ports.secrets)
    model = model.removeprefix(_ELSEWHERE)
    tools = _toolbox(config, run, ports)
    progress = _progress(config, run, ports)
    request = ModelRequest(
        model=model, messages=(ModelMessage("user", prompt(config, run, ports.artifacts)),), system=system(config),
        temperature=config.temperature, max_tokens=config.max_tokens, tools=tools.tools if tools is not None else (),
        on_text=progress.add if progress is not None else None,
    )
    meter = Meter(run, ports.models(endpoint), ports.spending)
    turns = repairs = 0
    while True:
        answer = meter.ask(replace(request, timeout=run.remaining()))
        if progress is not None:
            progress.flush()
        if answer.stop_reason == "max_tokens":
            raise ModelError(f"the answer of {model} was cut off at max_tokens")
        said = ModelMessage("assistant", whole_text(answer.text), answer.calls)
        if answer.calls:
            turns += 1
            if turns > config.max_turns:
                raise ModelError(f"the model {model} called tools {config.max_turns} times and gave no answer")
            if tools is None:
                raise ModelError(f"the model {model} called a tool, and has none")
            more = ModelMessage("user", results=[tools.call(each) for each in answer.calls])
            request = replace(request, messages=(*request.messages, said, more))
            continue
        value, problem = answered(answer, config)
        if not problem:
            return result(value, **run.usage)
        if repairs == config.repair_attempts:
            times = f", {repairs + 1} times" if repairs else ""
            raise ModelError(f"the model {model} did not answer with what was asked for{times}: {problem}")
        repairs += 1
        said = replace(said, text=said.text or "(nothing)")
        wish = ModelMessage("user", f"That is not what was asked for: {problem}. {_FORMATS[config.output_format]}")
        request = replace(request, messages=(*request.messages, said, wish))


def _toolbox(config: AgentConfig, run: StepRun, ports: Ports) -> Toolbox | None:
    """Imported only for an agent that has tools: skills take a tenth of a cold start."""
    if not config.tools:
        return None
    from functions.steps.agent.tools import Toolbox

    return Toolbox.of(config.tools, run, ports.http, ports.functions)


def _progress(config: AgentConfig, run: StepRun, ports: Ports) -> Progress | None:
    if not config.stream:
        return None
    from functions.steps.agent.progress import Progress

    return Progress(run, ports.events)


def model_id(config: AgentConfig, settings: Settings) -> str:
    """The model: of `model`, else of `agent_id` if that is an alias, else the installation's default."""
    aliases = settings.model_aliases
    name = config.model or (config.agent_id if config.agent_id in aliases else None) or settings.model or _DEFAULT_ALIAS
    return aliases.get(name, name)


def endpoint_of(config: AgentConfig, model: str, run: StepRun, secrets: Callable[[], Secrets]) -> ModelEndpoint | None:
    """The step's own endpoint, or that of the installation for a model `openai:<name>`; None for Bedrock."""
    if config.endpoint is not None:
        run.redactor.learn(config.endpoint.key)
        return ModelEndpoint(config.endpoint.url, config.endpoint.key)
    settings = run.settings
    if not model.startswith(_ELSEWHERE) or settings.model == OFFLINE:
        return None
    if not settings.model_url:
        raise ValidationError(f"the model {model} needs an endpoint; ASLANT_MODEL_URL is the installation's")
    key = secrets().get(run.tenant, settings.model_secret).strip()
    run.redactor.know(key)
    return ModelEndpoint(settings.model_url, key)


def system(config: AgentConfig) -> str:
    """The system prompt: the definition's own, the agent's role, and what the output must look like."""
    parts = [config.system or ""]
    if config.agent_id:
        parts.append(f"You are the agent {config.agent_id}.")
    parts.append(_FORMATS.get(config.output_format, ""))
    if config.output_schema is not None:
        parts.append(f"The JSON must fit this JSON Schema: {compact(config.output_schema)}")
    return "\n\n".join(part for part in parts if part)


def prompt(config: AgentConfig, run: StepRun, artifacts: Callable[[], Artifacts]) -> str:
    """The question: the prompt, then the data, each part named when there are several."""
    asked = config.prompt or (_filled(config, run, artifacts) if config.template else "")
    parts = [asked]
    if config.input is not None:
        text = render(config.input)
        parts.append(f"Input:\n{text}" if asked else text)
    if config.parameters:
        parts.append(f"Parameters:\n{compact(config.parameters)}")
    text = "\n\n".join(part for part in parts if part)
    if not text.strip():
        raise ValidationError("the prompt is empty")
    return text


def _filled(config: AgentConfig, run: StepRun, artifacts: Callable[[], Artifacts]) -> str:
    """A stored prompt with its values. A value is never read for placeholders."""
    name = config.template or ""
    try:
        text = artifacts().get(run.tenant, keys.prompt(run.tenant, name), _MAX_TEMPLATE).decode()
    except NotFoundError:
        raise NotFoundError(f"there is no prompt {name!r} in the bucket, at {keys.prompt(run.tenant, name)}") from None
    except UnicodeDecodeError:
        raise ValidationError(f"the prompt {name!r} is no UTF-8 text") from None
    missing = sorted({hole for hole in _HOLE.findall(text) if hole not in config.values})
    if missing:
        raise ValidationError(f"the prompt {name!r} also needs the values {', '.join(missing)}")
    return _HOLE.sub(lambda hole: render(config.values[hole[1]]), text)


def answered(answer: ModelAnswer, config: AgentConfig) -> tuple[Json, str]:
    """The value of an answer and an empty text, or null and what is wrong with it. A code fence around it is no harm."""
    if config.output_format not in ("json", "json_array"):
        return answer.text, ""
    text = answer.text.strip()
    fenced = _FENCE.search(text)
    for candidate in ([text, fenced[1]] if fenced else [text]):
        try:
            value = read_json(candidate)
        except ValueError:
            continue
        if config.output_format == "json_array" and not isinstance(value, list):
            return None, "it is JSON, but not an array"
        if config.output_schema is None:
            return value, ""
        from aslant.inputs import misfits  # many agents have no schema

        problems = misfits(config.output_schema, value, "the answer")
        return value, "; ".join(problem.message for problem in problems[:_SHOWN])
    return None, "it cannot be read as JSON"
