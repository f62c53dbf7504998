"""Definitions that random edits start from: in each dialect one that says a lot, in the canonical spelling one with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from translator.diagnostics import Findings
from translator.source import load, plain

EXAMPLES = Path(__file__).parents[2] / "infra" / "workflows"

CANONICAL = """
dialect: canonical
id: everything
name: Everything
version: 1.2.0
labels: {team: ops}
inputs:
  rows: {type: array, required: true, max_items: 9, items: {type: object}}
  limit: {type: number, default: 5, minimum: 0, maximum: 10}
  mode: {type: string, enum: [fast, slow], pattern: "^[a-z]+$"}
variables: {region: eu, factor: "{{ input.limit * 2 }}"}
settings:
  timeout: 3600
  max_parallel: 4
  on_error: {action: retry, max_retries: 2, then: fail}
  retry: {max_attempts: 2, strategy: fibonacci, delay: 1, max_delay: 30, jitter: true, on: [NetworkError]}
  checkpoint: {policy: every_n, every: 2}
  execution: standard
  sla: 60
notifications: [{on: [failed], config: {channel: sns, message: "{{ execution.id }} failed"}}]
error_handlers: [{errors: [NetworkError, "*"], action: retry, max_retries: 1, then: fail, notify: true, steps: [undo]}]
rollback: [{id: undo, type: skill, config: {skill: undo}}]
triggers: [{type: schedule, config: {cron: "0 5 * * *"}}]
steps:
  - {id: load, type: http, config: {url: "https://example.com/{{ input.mode }}", method: GET}, retry: {max_attempts: 3},
     timeout: 30, cache: {ttl: 60, key: "{{ input.mode }}"}, output_key: loaded}
  - {id: score, type: transform, depends_on: [load], config: {expression: "steps.load.output.n + input.limit"}}
  - {id: route, type: choice, depends_on: [score], default: low, mode: first,
     cases: [{name: high, when: steps.score.output > 3}, {name: middle, when: "steps.score.output > vars.factor"}]}
  - {id: ask, type: approval, depends_on: [{step: route, on: [high]}], timeout: 600, config: {message: ok?, approvers: [a@b.example]}}
  - {id: each, type: foreach, depends_on: [{step: route, on: [low, middle]}], items: "{{ input.rows }}", max_parallel: 3,
     batch_size: 1, on_item_error: continue, steps: [
       {id: one, type: skill, config: {skill: one, parameters: {row: "{{ item }}", at: "{{ index }}"}}, on_failure: continue},
       {id: two, type: transform, depends_on: [{step: one, when: "item.ok"}], config: {expression: "[x.n for x in item.list if x]"}}]}
  - {id: both, type: parallel, depends_on: [ask, each], wait_for_all: true, max_parallel: 2, branches: [
       {name: left, steps: [{id: left, type: notify, config: {channel: sns, message: "{{ steps.ask.output }}"}}]},
       {name: right, steps: [{id: right, type: wait, seconds: "{{ input.limit }}"}]}]}
  - {id: rest, type: wait, depends_on: [both], until: "2030-01-01T00:00:00Z", when: input.limit > 1}
  - {id: child, type: workflow, depends_on: [both], workflow: other, input: {a: "{{ state.loaded.b }}"}, wait_for_completion: true}
  - {id: send, type: email, depends_on: [child, rest], config: {to: [a@b.example], subject: s, body: "{{ errors.load }}"},
     compensation: {id: unsend, type: skill, config: {skill: unsend}}, on_failure: {action: retry, max_retries: 1, then: continue}}
finally: [{id: close, type: aggregate, config: {aggregation: sum, data: ["{{ steps.score.output }}"]}}]
outputs: {score: "{{ steps.score.output }}", text: "a {{ steps.send.output ?? 'none' }} \\\\{{ b }}"}
"""

GRAPH = """
name: Orders
version: "1.0"
settings: {timeout: 600, continue_on_error: false, retry: {strategy: exponential, max_retries: 2, delay: 1000},
  circuit_breaker: {failure_threshold: 3, recovery_timeout: 1000}}
nodes:
  - {id: start, type: manual_trigger, position: {x: 0, y: 0}, properties: {}}
  - {id: fetch, type: http, position: {x: 1, y: 0}, properties: {url: "https://example.com", method: GET}, retry: {max_retries: 1}}
  - {id: check, type: conditional, properties: {condition: "{{ input.total > 5 }}"}}
  - {id: big, type: transform, properties: {expression: input.total * 2}}
  - {id: small, type: skill, properties: {skill: pack}, on_failure: continue}
  - {id: loop, type: loop, properties: {items: "{{ input.items }}", nodes: [{id: inner, type: skill, properties: {skill: a}}]}}
  - {id: done, type: notification, properties: {channel: sns, message: "{{ nodes.big.output }}"}}
connections:
  - {source: start, target: fetch}
  - {source: fetch, target: check, sourceOutput: main, targetInput: main}
  - {source: check, target: big, sourceOutput: "true"}
  - {source: check, target: small, sourceOutput: "false"}
  - {source: big, target: done}
  - {source: small, target: loop}
  - {source: loop, target: done, when: input.total > 1}
"""

TASKS = """
id: release
name: Release
version: 1.0.0
metadata: {owner: ops}
config: {max_parallel_tasks: 3, timeout_seconds: 3600, checkpoint_interval_seconds: 30, enable_rollback: true,
  notification_config: {on_completion: [a@b.example], on_failure: [c@d.example], webhook_url: "https://example.com/hook"}}
inputs: {tag: {type: string, default: v1}}
tasks:
  - {id: build, name: Build, type: {type: Command, command: make, args: [build, "${input.tag}"], env: {CI: "1"}}, timeout: PT15M,
     retry_policy: {max_attempts: 3, initial_delay_ms: 1000, max_delay_ms: 5000, backoff_multiplier: 2, retryable_errors: [Timeout]}}
  - {id: test, type: {type: Http, method: POST, url: "https://example.com", headers: {a: b}, body: {x: "${steps.build.output}"}},
     depends_on: [build], config: {on_failure: Continue, collect_output: true, checkpoint: true}}
  - {id: rows, type: {type: Query, query_type: sql, query: "select 1", parameters: [1, "${input.tag}"]}, depends_on: [build]}
  - {id: gate, type: {type: Conditional, condition: "${steps.test.output.status == 200}", true_branch: [ok], false_branch: [bad]},
     depends_on: [test, rows]}
  - {id: ok, type: {type: Approval, approvers: [lead], timeout_seconds: 600, auto_approve: false}, depends_on: [gate]}
  - {id: bad, type: {type: Plugin, plugin_name: alarm, config: {level: 3}}, depends_on: [gate], condition: "${input.tag != 'x'}"}
  - {id: many, type: {type: Loop, items: ["a", "b"], parallel: true,
       task_template: {id: each, type: {type: Deploy, manifest: m.yaml, namespace: "${item}"}}}, depends_on: [ok]}
  - {id: grow, type: {type: Scale, resource: deployment/web, replicas: 3}, depends_on: [many]}
  - {id: next, type: {type: Subworkflow, workflow_id: after, inputs: {tag: "${input.tag}"}}, depends_on: [grow, bad]}
"""

AGENTS = """
metadata: {id: report, name: Report, version: "1.0.0", tags: [a], created_by: ana}
pattern: conditional
state_schema: {input: {type: object, required: [topic], properties: {topic: {type: string}, items: {type: array}}},
  output: {type: object, properties: {text: {type: string}}}}
nodes:
  - {id: find, agent: researcher, parameters: {prompt: "Look for {input.topic}", model: m, temperature: 0.5}, output: found,
     retry: {max_attempts: 2, backoff: constant}, timeout: 60}
  - {id: route, agent: router, input: found, parameters: {condition: "{state.found.n} > 3", if_true: long, if_false: short}}
  - {id: long, agent: writer, input: [found], output: text, parameters: {prompt: "{state.found}"}}
  - {id: short, agent: summarizer, input: found, output: text, parameters: {prompt: "short {state.found}"}, on_failure: continue}
  - {id: join, agent: aggregator, input: text, parameters: {aggregation: concat, format: text}, output: all}
edges:
  - {from: find, to: route}
  - {from: route, to: long, condition: "true"}
  - {from: route, to: short, condition: "false"}
  - {from: long, to: join}
  - {from: short, to: join}
settings:
  checkpointing: {enabled: true, frequency: every_node}
  error_handling: {on_failure: stop, notify_on_failure: true, notification_channel: slack}
  monitoring: {track_cost: true, sla_seconds: 600, alert_on_sla_breach: true}
  execution: {max_concurrent_nodes: 3, timeout_seconds: 900}
"""


def texts() -> dict[str, str]:
    """Every definition as text, by name; the examples of the product among them."""
    found = {"canonical": CANONICAL, "graph": GRAPH, "tasks": TASKS, "agents": AGENTS}
    return found | {path.name: path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.yaml"))}


def documents() -> dict[str, Any]:
    """The same as plain JSON data."""
    return {name: plain(load(text, Findings(), name)) for name, text in texts().items()}
