"""What an installation costs, and what to do when an alarm sounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra import month
from infra.settings import STAGES
from tests.infra.conftest import ROOT, Assembly

pytestmark = pytest.mark.timeout(450)


def alarms(assembly: Assembly) -> dict[str, dict[str, object]]:
    """Alarms by their ids in the code: CDK puts a hash behind them."""
    return {re.sub("[0-9A-F]{8}$", "", id): one["Properties"] for id, one in assembly.of_type("AWS::CloudWatch::Alarm")}


def test_every_alarm_has_a_section_of_the_runbook_and_the_other_way_round(assembly: Assembly) -> None:
    text = (ROOT / "infra" / "RUNBOOK.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n\n(.+?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == alarms(assembly).keys()
    assert all("\nLook: " in body and "\nDo: " in body for body in sections.values())


def test_alarms_are_about_metrics_that_somebody_writes(assembly: Assembly) -> None:
    """A metric is the one with all of its dimensions: one without them is another, which nobody writes."""
    ours = {"Executions": {"status"}, "Events": {"event_type"}, "SlaBreached": set[str]()}
    seen = set()
    for name, given in alarms(assembly).items():
        assert given["AlarmActions"] and given["TreatMissingData"] == "notBreaching", name
        rows: list[dict[str, object]] = [one["MetricStat"]["Metric"] for one in given.get("Metrics", []) if "MetricStat" in one]  # type: ignore[attr-defined]
        for metric in rows or [given]:
            dimensions = {row["Name"] for row in metric.get("Dimensions", [])}  # type: ignore[attr-defined]
            if metric["Namespace"] == "Aslant":
                assert dimensions == ours[str(metric["MetricName"])], name
                seen.add(metric["MetricName"])
            elif metric["Namespace"] == "AWS/States":
                assert dimensions, f"{name}: Step Functions has no metric of the account of that name"
    assert seen == ours.keys()


def test_alarms_that_are_paid_for_are_those_of_the_template(assembly: Assembly) -> None:
    assert len(alarms(assembly)) == month.ALARMS + 1  # and one with a band


def test_the_dashboard_shows_what_operators_ask_for(assembly: Assembly) -> None:
    ((_, board),) = assembly.of_type("AWS::CloudWatch::Dashboard")
    titles = set(re.findall(r'"title":"([^"]+)"', str(board["Properties"]["DashboardBody"])))
    assert titles >= {"Executions", "Duration of executions", "Failures", "Approvals", "Throttles", "Cost of models in US dollars"}


def test_a_month_costs_what_its_parts_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(month.idle(STAGES["dev"]).values()) == pytest.approx(1.00 + 11 * 0.10 + 0.30 + 0.40)
    one = month.busy(1_000_000, transitions=10, steps=2, seconds=1.0, memory=1024, workflows=0)
    assert one["Step Functions"] == pytest.approx(250.0)
    assert one["Lambda"] == pytest.approx(2 * (0.2 + 13.3334) + 6 * (0.2 + 0.1 * 0.5 * 13.3334))
    file = tmp_path / "one.yaml"
    file.write_text("dialect: canonical\nid: one\nversion: 1.0.0\nsteps: [{id: a, type: http, config: {url: 'https://example.com'}}]\n")
    assert month.main([str(file), "--executions", "0", "--workflows", "0", "--stage", "dev"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("2.80 US dollars a month")
    file.write_text("id: one\nsteps: [{id: a, type: nothing}]\n")
    assert month.main([str(file)]) == 1
