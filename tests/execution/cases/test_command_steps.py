"""command steps in compiled workflows on the local cloud."""

from __future__ import annotations

import textwrap

import pytest

from infra.local.runner import run
from translator.pipeline import Source, compile_sources


def started(text, inputs=None, **more):
    return run(compile_sources([Source(textwrap.dedent(text), "w.yaml")]), inputs or {}, timeout=60, **more)


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setenv("ASLANT_COMMANDS", "sh,wc,cat")


def test_an_output_goes_on_to_the_next_command(listed):
    result = started("""
        dialect: canonical
        name: words
        inputs: {text: {type: string}}
        steps:
          - {id: count, type: command, config: {command: wc, args: [-w], stdin: "{{ input.text }}"}}
          - id: show
            type: command
            depends_on: [count]
            config: {command: sh, args: [-c, 'printf "%s" "$1"; exit 3', sh, "{{ trim(steps.count.output.stdout) }} words; $(id)"], expected_exit_codes: [3]}
        outputs:
          said: "{{ steps.show.output.stdout }}"
          code: "{{ steps.show.output.exit_code }}"
    """, {"text": "one two three"})
    assert result.status == "completed", result.error
    assert result.output == {"said": "3 words; $(id)", "code": 3}


def test_a_command_that_fails_is_retried_and_has_a_name(listed):
    result = started("""
        dialect: canonical
        name: fails
        steps:
          - id: build
            type: command
            config: {command: sh, args: [-c, "echo broken >&2; exit 2"]}
            retry: {max_attempts: 2, delay: 1}
    """)
    assert result.status == "failed" and result.error.error == "CommandFailed"
    assert "build: sh ended with 2: broken" in result.error.message
    assert [step.attempts for step in result.steps] == [2]


def test_the_spelling_of_tasks(listed):
    result = started("""
        id: words
        name: Words
        version: "1.0.0"
        inputs: {more: {type: string}}
        tasks:
          - id: count
            name: Count
            type: {type: Command, command: sh, args: ["-c", 'test "$X" = "a; b"'], env: {X: "${more}"}}
          - id: look
            name: Look
            type: {type: Command, command: sh, args: ["-c", "exit 4"]}
            depends_on: [count]
            config: {on_failure: Continue}
    """, {"more": "a; b"})
    assert result.status == "completed", result.error
    assert result.error is None and [step.status for step in result.steps] == ["completed", "failed"]


def test_what_is_not_listed_does_not_run(monkeypatch):
    monkeypatch.delenv("ASLANT_COMMANDS", raising=False)
    text = "dialect: canonical\nname: w\nsteps: [{id: a, type: command, config: {command: wc}}]\n"
    assert started(text).error.error == "AuthorizationError"
    assert started(text, simulate=True).status == "completed"
