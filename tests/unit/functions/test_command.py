"""command steps: what a configuration asks for, what the output holds, and what is written down."""

from __future__ import annotations

import logging

import pytest

from aslant import bootstrap, observability
from aslant.command_ports import CommandEnd
from functions.steps.command.handler import handler


class Commands:
    """Runs nothing; ends as it is told."""

    def __init__(self):
        self.seen = []
        self.end = CommandEnd(0, b"", b"")
        self.lines = []
        self.fails = None

    def permits(self, name):
        return name != "unlisted"

    def run(self, request, line):
        self.seen.append(request)
        for each in self.lines:
            line(*each)
        if self.fails:
            raise self.fails
        return self.end


@pytest.fixture
def commands(monkeypatch):
    made = Commands()
    monkeypatch.setattr(bootstrap, "commands", lambda settings: made)

    class Secrets:
        def get(self, tenant, name):
            return "hunter22-and-more"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    return made


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("command", config, **more), None)["output"]


def test_a_line_that_is_one_of_a_secrets_lines_is_not_logged_however_short(commands, monkeypatch, invocation):
    class Secrets:
        def get(self, tenant, name):
            return "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nab=\n-----END KEY-----\n"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    told = []
    monkeypatch.setattr(observability, "log", lambda level, message, ids, **more: told.append(more.get("line")))
    commands.lines = [("stdout", line) for line in ("loading", "MIIEowIBAAKCAQEA", "  ab=", "ab=c")]
    handler(invocation("command", {"command": "npm", "stdin": ""}, secrets={"/stdin": [{"secret": "key"}]}), None)
    assert [line for line in told if line] == ["loading", "***", "***", "ab=c"]


def failure(call):
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


def test_the_request(run, commands):
    run({"command": "npm", "args": ["test", 1, True, 2.5, None], "env": {"CI": True, "N": 3, "NONE": None}, "stdin": "é",
         "files": {"a.json": "{}"}, "cwd": "app", "timeout": 7, "max_output_bytes": 10})
    request = commands.seen[0]
    assert (request.command, request.args, request.env) == ("npm", ["test", "1", "true", "2.5", ""], {"CI": "true", "N": "3"})
    assert (request.stdin, request.files, request.cwd, request.max_output) == ("é".encode(), {"a.json": b"{}"}, "app", 10)
    assert 0 < request.timeout <= 7


def test_the_output(run, commands):
    commands.end = CommandEnd(0, b"out\xff\n", b"err", True, False, b"err")
    output = run({"command": "npm"})
    assert output.pop("elapsed_ms") >= 0
    assert output == {"exit_code": 0, "stdout": "out\ufffd\n", "stderr": "err", "stdout_truncated": True, "stderr_truncated": False}


def test_exit_codes(run, commands):
    commands.end = CommandEnd(2, b"", b"", tail=b"x" * 5000 + b"no such file\n")
    assert run({"command": "grep", "expected_exit_codes": [0, 2]})["exit_code"] == 2
    name, text = failure(lambda: run({"command": "grep"}))
    assert name == "CommandFailed" and "step s: grep ended with 2: xxx" in text and text.endswith("no such file") and len(text) < 1100


def test_lines_and_outputs_hold_no_secrets(run, commands, caplog):
    caplog.set_level(logging.INFO)
    commands.lines = [("stdout", "the password is hunter22-and-more!"), ("stderr", "plain")]
    commands.end = CommandEnd(1, b"hunter22-and-more", b"", tail=b"hunter22-and-more")
    config = {"command": "login", "args": ["--password", ""], "expected_exit_codes": [1]}
    secrets = {"/args/1": [{"secret": "password"}]}
    assert run(config, secrets=secrets)["stdout"] == "***"
    assert commands.seen[0].args[1] == "hunter22-and-more"
    commands.end = CommandEnd(1, b"x hunter22-an", b"", True)
    assert run(config, secrets=secrets)["stdout"] == "x ***"
    assert failure(lambda: run({**config, "expected_exit_codes": [0]}, secrets=secrets))[0] == "CommandFailed"
    assert "the password is ***!" in caplog.text and "plain" in caplog.text and "hunter22" not in caplog.text


def test_the_log_is_bounded(run, commands, caplog):
    caplog.set_level(logging.INFO)
    commands.lines = [("stdout", f"line {number}") for number in range(5000)]
    run({"command": "yes"})
    lines = [record for record in caplog.records if "command output" in record.getMessage()]
    assert len(lines) == 2001 and "more lines are not logged" in lines[-1].getMessage()


def test_simulation_runs_what_is_listed_and_marks_the_rest(run, commands, monkeypatch):
    monkeypatch.setenv("ASLANT_SIMULATE", "1")
    assert run({"command": "unlisted", "args": ["x"]}) == {
        "simulated": True, "type": "command", "config": {"command": "unlisted", "args": ["x"]}}
    assert run({"command": "npm"})["exit_code"] == 0 and len(commands.seen) == 1


@pytest.mark.parametrize("config", [
    {"command": ""}, {"command": "a", "args": "b"}, {"command": "a", "args": [["b"]]}, {"command": "a", "expected_exit_codes": []},
    {"command": "a", "expected_exit_codes": [256]}, {"command": "a", "timeout": 0}, {"command": "a", "max_output_bytes": 10**9},
    {"command": "a", "shell": True},
])
def test_configurations_that_are_none(run, commands, config):
    assert failure(lambda: run(config))[0] == "ValidationError" and not commands.seen


def test_the_real_thing(run, monkeypatch, sample):
    monkeypatch.setenv("ASLANT_COMMANDS", "wc, sh")
    output = handler(sample("command"), None)["output"]
    assert (output["exit_code"], output["stdout"]) == (0, "3 notes.txt\n")
    assert failure(lambda: run({"command": "ls"}))[0] == "AuthorizationError"
    assert failure(lambda: run({"command": "sh", "args": ["-c", "sleep 9"], "timeout": 0.5}))[0] == "StepTimeout"
