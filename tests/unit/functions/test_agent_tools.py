"""agent steps: tools, answers that must fit a schema, stored prompts, pieces of an answer as events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant import bootstrap, inputs, skills
from aslant.errors import NotFoundError
from aslant.model_ports import ModelAnswer, ToolCall
from functions.steps.agent import progress
from functions.steps.agent.handler import handler
from tests.unit.functions.conftest import EVENTS

PROGRESS = EVENTS.parent / "progress"


@pytest.fixture
def model(model):
    yield model
    skills.unregister()


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("agent", config, **more), None)


def calling(name: str, arguments: Any, identifier: str = "t1") -> ModelAnswer:
    return ModelAnswer("", 10, 5, "tool_use", [ToolCall(identifier, name, arguments)])


def test_a_skill_is_called_and_its_result_goes_back(model, run):
    @skills.skill(name="stock.level")
    def stock(item: str, warehouse: int = 1) -> dict[str, Any]:
        """How many of an item there are."""
        return {"item": item, "left": 7 * warehouse}

    scripted = model(calling("stock_level", {"item": "tea", "warehouse": 2}), "There are 14.")
    done = run({"prompt": "How much tea?", "tools": ["stock.level"]})
    assert done["output"] == "There are 14."
    assert {name: done["usage"][name] for name in ("tokens_in", "tokens_out", "calls", "tool_calls")} == {
        "tokens_in": 20, "tokens_out": 10, "calls": 2, "tool_calls": 1}
    (tool,) = scripted.requests[0].tools
    assert (tool.name, tool.description) == ("stock_level", "How many of an item there are.")
    assert tool.parameters["properties"]["item"]["type"] == "string" and tool.parameters["required"] == ["item"]
    asked, said, given = scripted.requests[1].messages
    assert said.calls[0].name == "stock_level"
    assert [(each.id, json.loads(each.text), each.failed) for each in given.results] == [
        ("t1", {"item": "tea", "left": 14}, False)]


@pytest.mark.parametrize(("name", "arguments", "words"), [
    ("other", {}, "there is no tool other"),
    ("pay", {"amount": "ten"}, "an integer is wanted"),
    ("pay", {}, "amount is required"),
    ("pay", {"amount": 1, "to": "me"}, "no property to"),
    ("pay", "{not json", "an object is wanted"),
    ("pay", {"amount": 13}, "LuckError: not thirteen, ***"),
])
def test_what_goes_wrong_with_a_tool_is_told_to_the_model(model, invocation, name, arguments, words, monkeypatch):
    class LuckError(Exception):
        pass

    @skills.skill
    def pay(amount: int):
        if amount == 13:
            raise LuckError("not thirteen, s3cret-of-acme")
        raise AssertionError("called with what does not fit")

    class Secrets:
        def get(self, tenant, name):
            return "s3cret-of-acme"

    skills.register("never", lambda: pytest.fail("a skill that is no tool of this step"))
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    scripted = model(calling(name, arguments), "I could not pay.")
    event = invocation("agent", {"prompt": "Pay", "tools": ["pay"], "input": ""}, secrets={"/input": [{"secret": "key"}]})
    assert handler(event, None)["output"] == "I could not pay."
    (given,) = scripted.requests[1].messages[-1].results
    assert given.failed and words in given.text


def test_a_tool_that_takes_a_key_gets_one_that_tells_calls_apart_and_attempts_not(model, run):
    keys = []
    skills.register("charge", lambda amount, idempotency_key: keys.append(idempotency_key))
    for _ in range(2):
        scripted = model(calling("charge", {"amount": 1}), calling("charge", {"amount": 1}), calling("charge", {"amount": 2}), "ok")
        run({"prompt": "p", "tools": ["charge"]})
    assert keys[:3] == keys[3:] and len(set(keys)) == 3
    assert list(scripted.requests[0].tools[0].parameters["properties"]) == ["amount"]


def test_a_model_that_only_calls_tools_is_stopped_and_its_tokens_are_counted(model, failure, invocation, monkeypatch):
    ended: list[dict[str, float]] = []
    monkeypatch.setattr("aslant.observability.step_ended", lambda ids, **facts: ended.append(dict(facts["usage"] or {})))
    skills.register("look", lambda: "nothing")
    model(*(calling("look", {}) for _ in range(3)))
    name, text = failure({"prompt": "p", "tools": ["look"], "max_turns": 2})
    assert name == "ModelError" and "called tools 2 times" in text
    assert ended[-1]["tokens_in"] == 30 and ended[-1]["cost_usd"] > 0


def test_tools_that_cannot_be_offered(model, failure):
    model()
    skills.register("a.b", lambda: 1)
    skills.register("a_b", lambda: 1)
    skills.register("positional", lambda x, /: 1)
    assert failure({"prompt": "p", "tools": ["nobody"]})[0] == "SkillNotFound"
    assert "two tools are called a_b" in failure({"prompt": "p", "tools": ["a.b", "a_b"]})[1]
    assert "give the tool `parameters`" in failure({"prompt": "p", "tools": ["positional"]})[1]


def test_skills_elsewhere_are_tools_with_the_schema_that_is_given(model, run, server, monkeypatch):
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    monkeypatch.setenv("ASLANT_SKILLS", json.dumps({"far": f"{server.url}/far"}))
    server.json("/far", {"answer": 42})
    scripted = model(calling("far", {"q": "?"}), "42")
    tool = {"skill": "far", "description": "Knows.", "parameters": {"type": "object", "required": ["q"]}}
    assert run({"prompt": "p", "tools": [tool]})["output"] == "42"
    assert json.loads(server.seen[0].body) == {"q": "?"} and server.seen[0].headers["idempotency-key"]
    assert scripted.requests[0].tools[0].parameters == {"type": "object", "required": ["q"]}
    assert scripted.requests[1].messages[-1].results[0].text == '{"answer":42}'


SCHEMA = {"type": "object", "properties": {"risk": {"enum": ["low", "high"]}, "why": {"type": "string"}}, "required": ["risk"]}


def test_an_answer_fits_its_schema_or_is_sent_back(model, run, failure):
    config = {"prompt": "p", "output_format": "json", "output_schema": SCHEMA, "repair_attempts": 2}
    scripted = model('{"risk": "some"}', '{"why": "because"}', '{"risk": "low"}')
    assert run(config)["output"] == {"risk": "low"}
    wishes = [each.messages[-1].text for each in scripted.requests[1:]]
    assert 'none of "low", "high"' in wishes[0] and "risk is required" in wishes[1]
    model(*['{"risk": 1}'] * 3)
    name, text = failure(config)
    assert name == "ModelError" and "3 times" in text
    model('{"risk": 1}')
    assert failure({**config, "repair_attempts": 0})[0] == "ModelError"
    assert "is for `output_format: json`" in failure({"prompt": "p", "output_schema": SCHEMA})[1]


class Prompts:
    """The bucket of artifacts, with one prompt."""

    def __init__(self, **prompts: bytes) -> None:
        self.prompts = prompts

    def get(self, tenant, key, limit=None):
        name = key.removeprefix("acme/@prompts/")
        if tenant != "acme" or name not in self.prompts:
            raise NotFoundError("gone")
        return self.prompts[name]


def test_stored_prompts_are_filled_once(model, run, failure, monkeypatch):
    bucket = Prompts(review=b"Review {{ file }} in {{tone}}: {{ file }} {nothing}", bytes=b"\xff")
    monkeypatch.setattr(bootstrap, "artifacts", lambda settings: bucket)
    scripted = model("fine")
    run({"template": "review", "values": {"file": "{{tone}}", "tone": ["x"], "more": 1}, "input": "text"})
    assert scripted.requests[0].messages[0].text == 'Review {{tone}} in ["x"]: {{tone}} {nothing}\n\nInput:\ntext'
    model()
    assert failure({"template": "review", "values": {"file": "a"}}) == (
        "ValidationError", "step s: the prompt 'review' also needs the values tone")
    assert failure({"template": "../other/review"})[0] == "NotFoundError"
    assert failure({"template": "bytes"})[0] == "ValidationError"
    assert "exclude each other" in failure({"template": "review", "prompt": "p"})[1]
    assert "are for a `template`" in failure({"prompt": "p", "values": {"a": 1}})[1]


class Bus:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, dict[str, Any]]] = []

    def put(self, bus, source, detail_type, detail):
        self.events.append((bus, source, detail_type, detail))
        return "id"


@pytest.fixture
def bus(monkeypatch):
    bus = Bus()
    monkeypatch.setattr(bootstrap, "events", lambda settings: bus)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    return bus


class Writing:
    """A model that writes its answer in these pieces."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces

    def ask(self, request):
        if request.on_text is not None:
            for piece in self.pieces:
                request.on_text(piece)
        return ModelAnswer("".join(self.pieces), 1, 1)


def test_an_answer_is_told_piece_by_piece_and_without_secrets(run, invocation, monkeypatch, bus):
    class Secrets:
        def get(self, tenant, name):
            return "hunter2hunter2"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: Writing("The pass", "word is hun", "ter2hun", "ter2. ", "Bye"))
    event = invocation("agent", {"prompt": "p", "input": "", "stream": True}, secrets={"/input": [{"secret": "password"}]},
                       iteration=[2], attempt=1)
    output = handler(event, None)["output"]
    assert output == "The password is ***. Bye"
    details = [detail for _, source, kind, detail in bus.events if (source, kind) == ("aslant.progress", "node_progress")]
    assert "".join(detail["payload"]["text"] for detail in details) == output and len(details) > 2
    assert [detail["payload"]["part"] for detail in details] == list(range(1, len(details) + 1))
    schema = json.loads((PROGRESS / "node_progress.schema.json").read_text())
    sample = json.loads((PROGRESS / "node_progress.json").read_text())
    for detail in (*details, sample["detail"]):
        assert inputs.misfits(schema, detail, "the event") == []
    assert len({detail["event_id"] for detail in details}) == len(details)
    assert details[0]["payload"]["iteration"] == [2] and details[0]["payload"]["attempt"] == 2


def test_a_bus_that_fails_costs_no_answer_and_nothing_is_told_unasked(run, monkeypatch, bus):
    monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: Writing("a b ", "c"))
    assert run({"prompt": "p"})["output"] == "a b c" and bus.events == []

    def broken(*arguments):
        raise NotFoundError("no such bus")

    monkeypatch.setattr(bus, "put", broken)
    assert run({"prompt": "p", "stream": True})["output"] == "a b c"


def test_events_of_an_answer_are_bounded(run, monkeypatch, bus):
    monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: Writing(*["word "] * 500))
    assert len(run({"prompt": "p", "stream": True})["output"]) == 2500
    assert len(bus.events) == 200
