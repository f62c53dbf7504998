"""One question to a language model, and its answer in the format that was asked for."""

from __future__ import annotations

import re

from aslant.configs.agent import AgentConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ModelError, ValidationError
from aslant.ports import ModelAnswer, ModelRequest, Models
from aslant.prices import model_usd
from aslant.settings import Settings
from aslant.step import StepRun, result
from aslant.values import compact, read_json, render, whole_text

_DEFAULT_ALIAS = "claude-sonnet"
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_FORMATS = {
    "json": "Answer with one JSON value and nothing else: no explanation, no code fence.",
    "json_array": "Answer with one JSON array and nothing else: no explanation, no code fence.",
    "markdown": "Answer in Markdown.",
}


def ask(config: AgentConfig, run: StepRun, models: Models) -> StepResult:
    """The answer as the output: a text, or the parsed JSON. `usage` counts the tokens of all calls.

    An answer that should be JSON and is not is sent back once to be put right. Raises ModelError when that fails too, or
    when the answer was cut off.
    """
    request = ModelRequest(
        model=model_id(config, run.settings), messages=[{"role": "user", "text": prompt(config)}],
        system=system(config), temperature=config.temperature, max_tokens=config.max_tokens, timeout=run.remaining(),
    )
    answer = models.ask(request)
    answers = [answer]
    if config.output_format not in ("json", "json_array"):
        return _result(answer.text, answers, request.model)
    value, problem = answered(answer, config.output_format)
    if problem:
        repair = [*request.messages, {"role": "assistant", "text": whole_text(answer.text) or "(nothing)"},
                  {"role": "user", "text": f"That is not what was asked for: {problem}. {_FORMATS[config.output_format]}"}]
        answer = models.ask(ModelRequest(
            request.model, repair, request.system, request.temperature, request.max_tokens, run.remaining()
        ))
        answers.append(answer)
        value, problem = answered(answer, config.output_format)
    if problem:
        raise ModelError(f"the model {request.model} did not answer with JSON, twice: {problem}")
    return _result(value, answers, request.model)


def _result(output: Json, answers: list[ModelAnswer], model: str) -> StepResult:
    if answers[-1].stop_reason == "max_tokens":
        raise ModelError(f"the answer of {model} was cut off at max_tokens")
    usage: dict[str, float] = {
        "tokens_in": sum(each.tokens_in for each in answers), "tokens_out": sum(each.tokens_out for each in answers),
        "calls": len(answers),
    }  # fmt: skip
    usd = model_usd(model, usage["tokens_in"], usage["tokens_out"])
    return result(output, **usage) if usd is None else result(output, **usage, cost_usd=usd)


def model_id(config: AgentConfig, settings: Settings) -> str:
    """The Bedrock model: of `model`, else of `agent_id` if that is an alias, else the installation's default."""
    aliases = settings.model_aliases
    name = config.model or (config.agent_id if config.agent_id in aliases else None) or settings.model or _DEFAULT_ALIAS
    return aliases.get(name, name)


def system(config: AgentConfig) -> str:
    """The system prompt: the definition's own, the agent's role, and what the output must look like."""
    parts = [config.system or ""]
    if config.agent_id:
        parts.append(f"You are the agent {config.agent_id}.")
    parts.append(_FORMATS.get(config.output_format, ""))
    if config.output_schema is not None:
        parts.append(f"The JSON must fit this JSON Schema: {compact(config.output_schema)}")
    return "\n\n".join(part for part in parts if part)


def prompt(config: AgentConfig) -> str:
    """The question: the prompt, then the data, each part named when there are several."""
    parts = [config.prompt or ""]
    if config.input is not None:
        text = render(config.input)
        parts.append(f"Input:\n{text}" if config.prompt else text)
    if config.parameters:
        parts.append(f"Parameters:\n{compact(config.parameters)}")
    text = "\n\n".join(part for part in parts if part)
    if not text.strip():
        raise ValidationError("the prompt is empty")
    return text


def answered(answer: ModelAnswer, form: str) -> tuple[Json, str]:
    """The value of an answer and an empty text, or null and what is wrong with it. A code fence around it is no harm."""
    text = answer.text.strip()
    fenced = _FENCE.search(text)
    for candidate in ([text, fenced[1]] if fenced else [text]):
        try:
            value = read_json(candidate)
        except ValueError:
            continue
        if form == "json_array" and not isinstance(value, list):
            return None, "it is JSON, but not an array"
        return value, ""
    return None, "it cannot be read as JSON"
