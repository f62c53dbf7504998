"""The hard spots in the words that each dialect has for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.execution.cases.spelling import as_written, start
from tests.execution.support import Skills

DIALECTS = ("steps", "stages", "graph", "tasks", "agents")

# A branch on a boolean input, a loop with a limit, a step whose id has a dash, a skipped step that is read.
BRANCHES = {
    "steps": """
        name: own
        inputs: {dry: {type: boolean, default: true}, n: {type: integer, default: 5}}
        steps:
          - {id: flip-coin, type: transform, config: {data: {side: "{{ input.n }}"}}}
          - {id: no, type: skill, when: "{{ input.n }} > 0 && !{{ input.dry }}", config: {skill: echo, parameters: {value: "ran"}}}
          - id: each
            type: foreach
            config:
              items: [0.5, 0.05, 0.1]
              max_parallel: 2
              steps: [{id: one, type: skill, config: {skill: sleep, parameters: {seconds: "{{ item }}", name: "n{{ index }}", value: "{{ index }}"}}}]
        outputs: {side: "{{ steps.flip-coin.output.side }}", maybe: "{{ steps.no.output ?? 'none' }}", order: "{{ steps.each.output }}"}
    """,
    "stages": """
        workflow:
          name: own
          parameters:
            - {name: dry, type: boolean, default: true}
            - {name: n, type: integer, default: 5}
          stages:
            - name: one
              steps:
                - {id: flip-coin, type: transform, config: {data: {side: "${{ parameters.n }}"}}}
                - {id: no, skill: echo, when: "${{ parameters.n > 0 and not parameters.dry }}", parameters: {value: ran}}
            - name: two
              steps:
                - id: each
                  type: foreach
                  items: [0.5, 0.05, 0.1]
                  max_parallel: 2
                  steps: [{id: one, skill: sleep, parameters: {seconds: "${{ item }}", name: "n${{ index }}", value: "${{ index }}"}}]
          outputs: {side: "${{ steps.flip-coin.output.side }}", maybe: "${{ steps.no.output ?? 'none' }}", order: "${{ steps.each.output }}"}
    """,
    "graph": """
        name: own
        inputs: {dry: {type: boolean, default: true}, n: {type: integer, default: 5}}
        settings: {data_flow: false}
        nodes:
          - {id: flip-coin, type: transform, properties: {data: {side: "{{ input.n }}"}}}
          - {id: wet, type: if, properties: {condition: "input.n > 0 && !input.dry"}}
          - {id: no, type: skill, properties: {skill: echo, parameters: {value: ran}}}
          - id: each
            type: loop
            properties:
              items: [0.5, 0.05, 0.1]
              max_parallel: 2
              nodes: [{id: one, type: skill, properties: {skill: sleep, parameters: {seconds: "{{ item }}", name: "n{{ index }}", value: "{{ index }}"}}}]
        connections:
          - {source: flip-coin, target: wet}
          - {source: wet, target: no, sourceOutput: "true"}
          - {source: flip-coin, target: each}
        outputs: {side: "{{ nodes.flip-coin.output.side }}", maybe: "{{ nodes.no.output ?? 'none' }}", order: "{{ nodes.each.output }}"}
    """,
    "tasks": """
        name: own
        inputs: {dry: {type: boolean, default: true}, n: {type: integer, default: 5}}
        tasks:
          - {id: flip-coin, type: {type: transform, data: {side: "${input.n}"}}}
          - {id: no, condition: "${input.n} > 0 && !${input.dry}", type: {type: Plugin, plugin_name: echo, config: {value: ran}}}
          - id: each
            depends_on: [flip-coin, no]
            type:
              type: Loop
              items: [0.5, 0.05, 0.1]
              parallel: true
              max_parallel: 2
              task_template: {id: one, type: {type: Plugin, plugin_name: sleep, config: {seconds: "${item}", name: "n${index}", value: "${index}"}}}
        outputs: {side: "${tasks.flip-coin.output.side}", maybe: "${tasks.no.output ?? 'none'}", order: "${tasks.each.output}"}
    """,
    "agents": """
        metadata: {name: own}
        state_schema: {input: {type: object, properties: {dry: {type: boolean, default: true}, n: {type: integer, default: 5}}}}
        nodes:
          - {id: flip-coin, agent: transform, parameters: {data: {side: "{input.n}"}}, output: coin}
          - {id: wet, agent: router, parameters: {condition: "{input.n} > 0 && !{input.dry}", if_true: "no", if_false: each}}
          - {id: no, agent: skill, parameters: {skill: echo, parameters: {value: ran}}, output: maybe}
          - id: each
            agent: foreach
            parameters:
              items: [0.5, 0.05, 0.1]
              max_parallel: 2
              steps: [{id: one, agent: skill, parameters: {skill: sleep, parameters: {seconds: "{item}", name: "n{index}", value: "{index}"}}}]
        edges:
          - {from: flip-coin, to: wet}
          - {from: wet, to: "no"}
          - {from: wet, to: each}
          - {from: "no", to: each}
        outputs: {side: "{state.coin.side}", maybe: "${{ state.maybe ?? 'none' }}", order: "${{ steps.each.output }}"}
    """,
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("given", "side", "maybe"), [
    ({}, 5, "none"), ({"dry": False}, 5, "ran"), ({"dry": False, "n": 0}, 0, "none"),
])
def test_branches_loops_and_false_inputs(skills: Skills, dialect: str, given: dict[str, Any], side: int, maybe: str) -> None:
    (compilation,) = as_written(BRANCHES[dialect])
    assert compilation.dialect == dialect
    result = start([compilation], given)
    assert result.output == {"side": side, "maybe": maybe, "order": [0, 1, 2]}, result.error
    assert skills.most == 2


RETRIES = {
    "steps": """
        name: shape
        steps:
          - {id: a, type: skill, timeout: 2000, config: {skill: x},
             retry: {max_attempts: 6, backoff: exponential, initial_delay: 1000, multiplier: 2, max_delay: 3s, on: [Transient]}}
    """,
    "stages": """
        workflow:
          name: shape
          stages:
            - name: s
              steps:
                - {id: a, skill: x, timeout: 2,
                   retry: {max_attempts: 6, backoff: exponential, delay: 1, multiplier: 2, max_delay: 3, on: [Transient]}}
    """,
    "graph": """
        name: shape
        nodes:
          - {id: a, type: skill, timeout: 2, properties: {skill: x},
             retry: {strategy: exponential, max_retries: 5, delay: 1000, multiplier: 2, max_delay: 3000, on: [Transient]}}
        connections: []
    """,
    "tasks": """
        name: shape
        tasks:
          - id: a
            type: {type: Plugin, plugin_name: x}
            timeout: PT2S
            retry_policy: {max_attempts: 6, initial_delay_ms: 1000, backoff_multiplier: 2.0, max_delay_ms: 3000, retryable_errors: [Transient]}
    """,
    "agents": """
        metadata: {name: shape}
        nodes:
          - {id: a, agent: skill, timeout: 2, parameters: {skill: x},
             retry: {max_attempts: 6, backoff: exponential, delay: 1, multiplier: 2, max_delay: 3, on: [Transient]}}
        edges: []
    """,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_attempts_and_times_in_each_dialects_unit(dialect: str) -> None:
    (compilation,) = as_written(RETRIES[dialect])
    state = compilation.definition["States"]["a"]
    assert state["TimeoutSeconds"] == 2
    assert [rule for rule in state["Retry"] if "Transient" in rule["ErrorEquals"]] == [
        {"ErrorEquals": ["Transient"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 5, "MaxDelaySeconds": 3}
    ]


CALLS = {
    "steps": """
        name: par
        steps:
          - {id: ask, type: approval, timeout: 20000, config: {message: ok?, on_timeout: reject, on_reject: continue}}
          - {id: each, type: foreach, config: {items: [1, 1, 2], steps: [{id: call, type: workflow, config: {workflow_id: kid, input: {x: "{{ item }}"}}}]}}
        outputs: {by: "{{ steps.ask.output.by }}", all: "{{ steps.each.output }}"}
    """,
    "stages": """
        workflow:
          name: par
          stages:
            - {name: gate, steps: [{id: ask, type: approval, timeout: 20, parameters: {message: ok?, on_timeout: reject, on_reject: continue}}]}
            - name: calls
              steps: [{id: each, type: foreach, items: [1, 1, 2], steps: [{id: call, workflow: kid, parameters: {x: "${{ item }}"}}]}]
          outputs: {by: "${{ steps.ask.output.by }}", all: "${{ steps.each.output }}"}
    """,
    "graph": """
        name: par
        settings: {data_flow: false}
        nodes:
          - {id: ask, type: approval, timeout: 20, properties: {message: ok?, on_timeout: reject, on_reject: continue}}
          - {id: each, type: loop, properties: {items: [1, 1, 2], nodes: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}}
        connections: [{source: ask, target: each}]
        outputs: {by: "{{ nodes.ask.output.by }}", all: "{{ nodes.each.output }}"}
    """,
    "tasks": """
        name: par
        tasks:
          - {id: ask, type: {type: Approval, timeout_seconds: 20, message: ok?, on_timeout: reject, on_reject: continue}}
          - id: each
            depends_on: [ask]
            type: {type: Loop, items: [1, 1, 2], task_template: {id: call, type: {type: Subworkflow, workflow_id: kid, inputs: {x: "${item}"}}}}
        outputs: {by: "${tasks.ask.output.by}", all: "${tasks.each.output}"}
    """,
    "agents": """
        metadata: {name: par}
        nodes:
          - {id: ask, agent: human_loop, timeout: 20, parameters: {message: ok?, on_timeout: reject, on_reject: continue}}
          - {id: each, agent: foreach, parameters: {items: [1, 1, 2], steps: [{id: call, agent: workflow, workflow: kid, parameters: {input: {x: "{item}"}}}]}}
        edges: [{from: ask, to: each}]
        outputs: {by: "${{ steps.ask.output.by }}", all: "${{ steps.each.output }}"}
    """,
}
KID = """
    dialect: canonical
    id: kid
    inputs: {x: {type: integer, required: true}}
    steps: [{id: work, type: skill, config: {skill: echo, parameters: {value: "{{ input.x }}"}}}]
"""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_gates_that_expire_and_children_in_loops(skills: Skills, dialect: str) -> None:
    compilations = as_written(CALLS[dialect], KID)
    assert compilations[0].dialect == dialect
    result = start(compilations)
    assert result.output == {"by": "timeout", "all": [{"work": 1}, {"work": 1}, {"work": 2}]}, result.error
    assert skills.count("echo") == 3
