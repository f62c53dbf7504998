"""Through the state machine: skills with limits and breakers, kept results, and a deployment."""

from __future__ import annotations

from aslant import bootstrap
from aslant import skills as registry
from aslant.kubernetes import Access, Kubernetes
from tests.execution.support import Skills, run_text
from tests.unit.functions.cluster import Cluster


def test_kept_limited_and_broken(skills: Skills) -> None:
    registry.register("limited", lambda: skills.echo(name="limited"), rate_limit={"calls": 1, "per": 86_400})

    def down() -> None:
        skills.fail("down")

    registry.register("down", down, circuit_breaker={"failure_threshold": 2, "recovery_timeout": 600})
    result = run_text("""
        dialect: canonical
        name: guarded
        steps:
        - {id: first, type: skill, pure: true, cache: {ttl: 60, key: "k-{{ input.k }}"}, config: {skill: echo, parameters: {value: "{{ input.k }}", name: kept}}}
        - id: again
          type: foreach
          depends_on: [first]
          items: [1, 2, 3]
          max_parallel: 1
          on_item_error: continue
          steps:
          - {id: kept, type: skill, pure: true, cache: {ttl: 60}, config: {skill: echo, parameters: {value: same, name: kept_too}}}
          - {id: limited, type: skill, retry: {max_attempts: 1}, on_failure: continue, depends_on: [kept], config: {skill: limited}}
          - {id: down, type: skill, retry: {max_attempts: 1}, depends_on: [limited], config: {skill: down}}
        outputs: {first: "{{ steps.first.output }}", again: "{{ steps.again.output }}"}
        """, input={"k": 7})
    assert result.status == "completed", result.error
    assert result.output["first"] == 7
    assert [skills.count(name) for name in ("kept", "kept_too", "limited", "down")] == [1, 1, 1, 2]
    assert [each["error"]["error"] for each in result.output["again"]] == ["NoisyError", "NoisyError", "CircuitOpen"]


def test_a_deployment(monkeypatch) -> None:
    cluster = Cluster()
    monkeypatch.setattr(bootstrap, "cluster", lambda settings, name, tenant, redactor, remaining: Kubernetes(
        Access("https://cluster", "t0ken"), cluster, remaining, sleep=lambda seconds: None))
    result = run_text("""
        dialect: canonical
        name: ship
        steps:
        - id: ship
          type: deploy
          config: {manifest: {apiVersion: apps/v1, kind: Deployment, metadata: {name: shop}, spec: {replicas: "{{ input.n }}"}}}
        - {id: grow, type: scale, depends_on: [ship], config: {resource: deployment/shop, replicas: 4}}
        outputs: {ready: "{{ steps.grow.output.ready }}", ship: "{{ steps.ship.output.objects[0].status }}"}
        """, input={"n": 2})
    assert (result.status, result.output) == ("completed", {"ready": 4, "ship": "rolled out"}), result.error
