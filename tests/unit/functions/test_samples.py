"""The sample events are what the functions take."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from aslant import bootstrap, skills
from aslant.configs.check import check_config
from aslant.http_ports import HttpResponse
from aslant.step_types import STEP_TYPES, function_name

ROOT = Path(__file__).parents[3]
FOLDERS = sorted({kind.folder for kind in STEP_TYPES.values() if kind.folder})


def handler_of(folder):
    return importlib.import_module(f"functions.steps.{folder}.handler").handler


def test_there_is_one_sample_and_one_handler_per_function():
    assert sorted(path.stem for path in (ROOT / "events" / "steps").glob("*.json")) == FOLDERS
    for folder in FOLDERS:
        assert callable(handler_of(folder))
    folders = {path.parent.name for path in (ROOT / "functions" / "steps").glob("*/handler.py")}
    assert folders == set(FOLDERS)
    assert function_name("query") == "aslant-query"


@pytest.mark.parametrize("name", FOLDERS)
def test_the_configuration_of_a_sample_is_valid(sample, name):
    event = sample(name)
    assert check_config(event["type"], event["config"]) == [] or name == "http"


def test_http_sample(sample, monkeypatch):
    sent = []

    class Http:
        def send(self, request):
            sent.append(request)
            return HttpResponse(201, {"content-type": "application/json"}, b'{"id": 1}', request.url)

    class Secrets:
        def get(self, tenant, name):
            return f"{tenant}-{name}-value"

    monkeypatch.setattr(bootstrap, "http", lambda settings: Http())
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    assert handler_of("http")(sample("http"), None)["output"]["body"] == {"id": 1}
    assert sent[0].headers["Authorization"] == "Bearer acme-api_token-value"


def test_transform_and_aggregate_samples(sample):
    assert handler_of("transform")(sample("transform"), None)["output"] == [{"name": "a", "score": 0.9}]
    assert handler_of("aggregate")(sample("aggregate"), None)["output"] == 7


def test_skill_sample(sample):
    skills.register("test_runner", lambda suite, coverage_threshold: {"suite": suite, "covered": coverage_threshold})
    try:
        assert handler_of("skill")(sample("skill"), None)["output"] == {"suite": "unit", "covered": 80}
    finally:
        skills.unregister()


def test_samples_under_simulation(sample, monkeypatch):
    monkeypatch.setenv("ASLANT_MODEL", "offline")
    monkeypatch.setenv("ASLANT_SIMULATE", "1")
    assert handler_of("agent")(sample("agent"), None)["output"][0].startswith("[simulated by")
    assert handler_of("deploy")(sample("deploy"), None)["output"] == {"simulated": True, "objects": ["Deployment/shop"]}
    assert handler_of("scale")(sample("scale"), None)["output"]["replicas"] == 3


def test_notify_and_approval_samples(sample, store_of_approvals):
    topic = boto3.client("sns").create_topic(Name="releases")["TopicArn"]
    event = sample("notify")
    event["config"]["topic"] = topic
    sent = handler_of("notify")(event, None)["output"]["sent"]
    assert [entry["channel"] for entry in sent] == ["sns", "event"]
    assert handler_of("approval")(sample("approval"), None)["output"]["status"] == "pending"


CLIENTS = {"boto3", "botocore", "urllib3", "yaml", "re2", "asyncio", "moto"}
OTHERS = {"aslant.history", "aslant.releases", "aslant.executions.store", "translator.expressions.parser", "translator.findings"}
PORTS = {"scrape": "page_ports", "command": "command_ports", "query": "database_ports", "email": "mail_ports", "agent": "model_ports"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_importing_a_handler_loads_only_what_every_call_needs(folder):
    code = (
        f"import sys, functions.steps.{folder}.handler\n"
        "from aslant.configs.base import Config\n"
        "print(*sys.modules)\n"
        "print([model.__name__ for model in Config.__subclasses__() if model.__pydantic_complete__])"
    )
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'layers' / 'runtime' / 'python'}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=paths, check=True)
    loaded, built = done.stdout.splitlines()
    foreign = {f"aslant.{module}" for kind, module in PORTS.items() if kind != folder}
    assert not set(loaded.split()) & (CLIENTS | OTHERS | foreign)
    assert built == "[]"  # models are built when the first configuration is checked, each as a part of the whole
