"""The CDK command line tool deploys the stacks into the local cloud; then what is deployed is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.local.cloud import LocalCloud
from infra.local.deployed import unpacker
from infra.local.moto_patches.formation import formation
from infra.local.server import Server
from tests.infra.conftest import ROOT, synthesize

CDK = ROOT / "infra" / "node" / "node_modules" / ".bin" / "cdk"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}


def cdk(folder: Path, url: str, *arguments: str) -> str:
    variables = os.environ | KEYS | {"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_S3": url, "CI": "true"}
    done = subprocess.run(
        [str(CDK), *arguments, "--no-notices"], cwd=folder, env=variables, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.timeout(500)
def test_what_cdk_deploys_runs(tmp_path: Path) -> None:
    workflows, assembly = tmp_path / "workflows", tmp_path / "assembly"
    workflows.mkdir()
    shutil.copy(ROOT / "infra" / "workflows" / "tasks-bakery.yaml", workflows)
    done = synthesize(assembly, workflows=str(workflows))
    assert done.returncode == 0, done.stderr[-3000:]
    with LocalCloud() as cloud, Server(0) as server:
        url = f"http://127.0.0.1:{server.port}"
        with formation(url, unpacker(tmp_path / "code", cloud, KEYS | {"AWS_ENDPOINT_URL": url})):
            cdk(assembly, url, "bootstrap", "aws://123456789012/us-east-1", "--output", str(tmp_path / "toolkit"))
            cdk(assembly, url, "deploy", "--all", "--method=direct", "--require-approval=never", "--app", str(assembly))
        stacks = {one["StackName"]: one["StackStatus"] for one in cloud.client("cloudformation").describe_stacks()["Stacks"]}
        assert {f"aslant-dev-{name}" for name in (
            "data", "engine", "functions", "events", "api", "workflows-1", "observability",
        )} < stacks.keys() and set(stacks.values()) == {"CREATE_COMPLETE"}  # fmt: skip
        # The custom resource ran the deployed code: the version is in the deployed catalog.
        (catalog,) = [name for name in cloud.client("dynamodb").list_tables()["TableNames"] if "Catalog" in name]
        rows = cloud.client("dynamodb").scan(TableName=catalog)["Items"]
        (machine,) = {row["machine"]["S"] for row in rows if "machine" in row}
        assert machine == "arn:aws:states:us-east-1:123456789012:stateMachine:bakery-order:1"
        result = cloud.start(machine, {"input": {"guests": 14}, "execution": {"id": "e1", "tenant": "default"}}).wait(60)
        assert result.status == "SUCCEEDED", result
        assert "28 rolls" in json.dumps(result.output) and "order the day before" in json.dumps(result.output)
