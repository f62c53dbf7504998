from __future__ import annotations

from typing import Any

import pytest

from tests.unit.expressions.reading import START, problems
from translator.diagnostics import Findings
from translator.expressions.parser import parse
from translator.expressions.references import is_deterministic, slots
from translator.expressions.resolve import Names, resolve
from translator.expressions.tree import Attribute, Index, Literal, Node, Slot

STEPS = ("build", "flip-coin", "flip", "coin", "It's a.b/c", "toString", "items", "__class__", "étape")
NAMES = Names(
    inputs={"version": {}, "a-b": {}, "coin": {}},
    variables=("region",),
    steps=STEPS,
    state={"report": Slot("output", "build")},
    loops={"item": Slot("item", "each"), "index": Slot("index", "each"), "review": Slot("item", "each")},
    bare={"payload": Attribute(Slot("input"), "body")},
)


def resolved(text: str, names: Names = NAMES) -> Node:
    findings = Findings()
    node = parse(text, START, findings, STEPS)
    assert node is not None, findings.items
    result = resolve(node, names, findings)
    assert not findings.items, findings.items
    return result


@pytest.mark.parametrize(("text", "expected"), [
    ("input", Slot("input")), ("parameters.version", Attribute(Slot("input"), "version")),
    ("inputs['a-b']", Attribute(Slot("input"), "a-b")), ("version", Attribute(Slot("input"), "version")),
    ("vars.region", Slot("var", "region")), ("variables.region", Slot("var", "region")),
    ("region", Slot("var", "region")),
    ("steps.build.output", Slot("output", "build")), ("steps.build.status", Slot("status", "build")),
    ("steps.build.error", Slot("error", "build")), ("steps.build", Slot("output", "build")),
    ("steps.build.size", Attribute(Slot("output", "build"), "size")),
    ("steps.build.output.output", Attribute(Slot("output", "build"), "output")),
    ("nodes.flip-coin.output", Slot("output", "flip-coin")),
    ("tasks['flip-coin']['output']", Slot("output", "flip-coin")),
    ("steps[\"It's a.b/c\"].output", Slot("output", "It's a.b/c")), ("steps.items.output", Slot("output", "items")),
    ("steps.toString", Slot("output", "toString")), ("steps.__class__.output", Slot("output", "__class__")),
    ("steps['e\u0301tape'].output", Slot("output", "étape")), ("errors.build", Slot("error", "build")),
    ("state.report.x", Attribute(Slot("output", "build"), "x")), ("report", Slot("output", "build")),
    ("item.name", Attribute(Slot("item", "each"), "name")), ("review", Slot("item", "each")),
    ("index", Slot("index", "each")),
    ("payload.x", Attribute(Attribute(Slot("input"), "body"), "x")), ("secrets.token", Slot("secret", "token")),
    ("secrets['a/b']", Slot("secret", "a/b")), ("env.STAGE", Slot("env", "STAGE")),
    ("env('STAGE')", Slot("env", "STAGE")),
    ("context.previous", Attribute(Slot("context"), "previous")), ("execution.id", Attribute(Slot("execution"), "id")),
    ("input[item]", Index(Slot("input"), Slot("item", "each"))),
])
def test_names_become_slots(text: str, expected: object) -> None:
    assert resolved(text) == expected


def test_a_comprehension_variable_hides_every_other_name() -> None:
    assert slots(resolved("[steps.x for steps in input.version if steps.y]")) == {Slot("input")}
    assert slots(resolved("[item for x in item]")) == {Slot("item", "each")}
    assert slots(resolved("[x for x in [region for region in version]]")) == {Slot("input")}


def test_without_declared_inputs_any_may_be_read() -> None:
    assert resolved("input.anything", Names()) == Attribute(Slot("input"), "anything")


@pytest.mark.parametrize(("text", "code", "hint"), [
    ("input.typo == 1", "E012", ""), ("input.versoin", "E012", "did you mean version?"),
    ("steps.nope.output", "E011", ""), ("steps.biuld.output", "E011", "did you mean build?"),
    ("steps['nope']", "E011", ""), ("errors.nope", "E011", ""), ("vars.regoin", "E013", "did you mean region?"),
    ("nonsense", "E010", ""), ("build.size", "E010", "steps.build.output"), ("state.nope", "E010", ""),
    ("steps[item].output", "E017", "as a text"), ("secrets[item]", "E017", ""), ("env(item)", "E017", ""),
    ("steps", "E016", "steps.<id>.output"), ("secrets", "E016", ""), ("uppr(version)", "E014", "did you mean upper?"),
    ("len()", "E015", ""), ("len(1, 2)", "E015", ""), ("file_exists('x')", "E018", ""),
])
def test_unknown_names_are_findings(text: str, code: str, hint: str) -> None:
    (found,) = problems(text, NAMES)
    assert found.code == code
    assert hint in found.hint


def test_item_outside_of_a_loop_says_so() -> None:
    (found,) = problems("item.name", Names())
    assert found.code == "E010" and "loop" in found.hint


def test_a_refused_reference_reads_as_null_so_that_the_rest_is_still_checked() -> None:
    findings = Findings()
    node: Any = parse("nope1 + nope2", START, findings)
    result = resolve(node, Names(), findings)
    assert [d.message for d in findings] == ["the name nope1 is not known here", "the name nope2 is not known here"]
    assert result == parse("null + null", START, Findings())
    assert Literal(None) in (getattr(result, "left", 0), getattr(result, "right", 0))


def test_determinism() -> None:
    assert is_deterministic(resolved("len(version) + 1"))
    for text in ("now()", "[uuid() for x in version]", "random() > 0.5", "env.STAGE"):
        assert not is_deterministic(resolved(text))


@pytest.mark.parametrize(("text", "meant"), [
    ("steps.build.ouput", "output"), ("steps.build.outptu.size", "output"), ("steps.build.outputs", "output"),
    ("nodes.build['Output']", "output"), ("tasks.build.staus == 'failed'", "status"), ("steps.build.eror", "error"),
    ("errors.build.mesage", "message"), ("errors['build'].errors", "error"), ("steps.build.error.messages", "message"),
])
def test_slips_in_the_parts_of_a_step_are_errors(text: str, meant: str) -> None:
    findings = Findings()
    node = parse(text, START, findings, STEPS)
    assert node is not None
    resolve(node, NAMES, findings)
    assert [found.code for found in findings.items] == ["E019"]
    assert f"did you mean {meant}?" in findings.items[0].hint


@pytest.mark.parametrize(("text", "field"), [
    ("steps.build.errors", "errors"), ("steps.build.stats", "stats"), ("steps.build.result", "result"),
    ("steps.build.output.outputs", "outputs"),
])
def test_fields_of_an_output_are_no_slips(text: str, field: str) -> None:
    assert resolved(text) == Attribute(Slot("output", "build"), field)


def test_a_guess_is_made_only_for_words_that_are_close() -> None:
    for text, hint in (("strftime(1)", "known: "), ("uper('a')", "did you mean upper?"), ("mim(1)", "did you mean min?")):
        findings = Findings()
        node = parse(text, START, findings, STEPS)
        assert node is not None
        resolve(node, NAMES, findings)
        assert findings.items[0].hint.startswith(hint)


def test_lists_of_names_that_are_cut_say_so() -> None:
    many = Names(steps=tuple(f"step_{number:02}" for number in range(20)))
    for text in ("errors", "steps.x"):
        findings = Findings()
        node = parse(text, START, findings)
        assert node is not None
        resolve(node, many, findings)
        assert findings.items[0].hint.endswith("step_11, …")
