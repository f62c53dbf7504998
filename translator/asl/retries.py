"""Retry rules of a state.

https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html: delays are whole seconds from 1 up,
rules are tried in order, each counts its own attempts, and `States.ALL` stands alone in the last rule.
"""

from __future__ import annotations

import math
from typing import Any

from aslant.error_names import ALL, LAMBDA_SERVICE, NEVER_RETRIED, RETRYABLE, TIMEOUTS
from translator.diagnostics import Findings
from translator.findings import asl as rules
from translator.model.workflow import Retry

SERVICE: dict[str, Any] = {"ErrorEquals": [*LAMBDA_SERVICE]}  # three times: after 1, 2 and 4 seconds
_PLANNED = frozenset({"linear", "fibonacci", "adaptive"})
MAX_DELAY = 31_622_400


Rules = list[dict[str, Any]]


def retry_rules(
    retry: Retry | None, extra: list[Retry], findings: Findings, *, service: bool = True
) -> tuple[Rules, dict[str, Any] | None]:
    """The `Retry` field for a step's retry, for the `extra` attempts of its reactions, and the plan of its function.

    The first of `extra` that names an error counts, with one attempt too: it keeps later ones from retrying the error. With
    `service`, Lambda's own errors are always retried. The plan is None unless the delays are more than ASL can say.
    """
    found: Rules = []
    plan: dict[str, Any] | None = None
    if retry is not None and retry.max_attempts > 1:
        if retry.strategy in _PLANNED:
            plan = _plan(retry)
            found = _planned_rules(retry, plan["delays"], findings)
        else:
            found = _rules(retry, findings)
    if plan is not None and (further := max([0, *(wanted.max_attempts - 1 for wanted in extra)])):
        plan["most"] = plan["max_attempts"] + further
    decided: set[str] = set()  # the first reaction to an error's name is the one that counts
    for number, wanted in enumerate(extra):
        more = wanted.max_attempts - 1
        if ALL in wanted.on:
            found = _more_for_all(found, wanted, decided, findings)
            break
        names = [name for name in wanted.on if name not in decided and name not in NEVER_RETRIED]
        decided.update(names)
        if names and (more or any(later.max_attempts > 1 for later in extra[number + 1:])):
            found = _more_for(found, wanted, names, findings)
    if service and not any(set(LAMBDA_SERVICE) <= set(rule["ErrorEquals"]) for rule in found):
        catch_all = next((i for i, rule in enumerate(found) if ALL in rule["ErrorEquals"]), len(found))
        found.insert(catch_all, dict(SERVICE))
    return found, plan


def _more_for(found: Rules, wanted: Retry, names: list[str], findings: Findings) -> Rules:
    """Rules of their own for `names`: a state goes by the first rule that names the error, and by no other after it."""
    more = wanted.max_attempts - 1
    made: Rules = []
    for name in names:
        own = next((rule for rule in found if name in rule["ErrorEquals"] or ALL in rule["ErrorEquals"]), None)
        base = own if own is not None else _rules(wanted, findings)[0] if more else {}
        rule = {**base, "ErrorEquals": [name], "MaxAttempts": (own["MaxAttempts"] if own is not None else 0) + more}
        alike = next((other for other in made if {**other, "ErrorEquals": 0} == {**rule, "ErrorEquals": 0}), None)
        if alike is None:
            made.append(rule)
        else:
            alike["ErrorEquals"].append(name)
    left = [{**rule, "ErrorEquals": [name for name in rule["ErrorEquals"] if name not in names]} for rule in found]
    return [*made, *(rule for rule in left if rule["ErrorEquals"])]


def _more_for_all(found: Rules, wanted: Retry, decided: set[str], findings: Findings) -> Rules:
    """Every error but those `decided` before is retried that much more often."""
    more = wanted.max_attempts - 1
    result = [
        rule if decided & set(rule["ErrorEquals"]) or NEVER_RETRIED & set(rule["ErrorEquals"])
        or any(name.startswith("Retry.") for name in rule["ErrorEquals"])
        else {**rule, "MaxAttempts": rule["MaxAttempts"] + more}
        for rule in found
    ]
    if not more or any(ALL in rule["ErrorEquals"] for rule in found):
        return result
    return [*result, *_rules(wanted, findings)]


def delays(retry: Retry) -> list[float]:
    """Seconds before each retry, without jitter."""
    result: list[float] = []
    before, now = 0.0, float(retry.delay)
    for number in range(1, retry.max_attempts):
        if retry.strategy == "linear":
            delay = retry.delay * number
        elif retry.strategy == "fibonacci":
            delay = now
            before, now = now, before + now
        elif retry.strategy in ("fixed", "immediate"):
            delay = retry.delay if retry.strategy == "fixed" else 0
        else:
            delay = retry.delay * retry.multiplier ** (number - 1)
        result.append(min(delay, retry.max_delay) if retry.max_delay is not None else delay)
    return result


def whole(seconds: float) -> int:
    return max(1, min(math.ceil(seconds), MAX_DELAY))


def _errors(retry: Retry) -> list[str]:
    return [*retry.on] if retry.on else [*RETRYABLE, *LAMBDA_SERVICE]


def _rules(retry: Retry, findings: Findings) -> Rules:
    errors = _errors(retry)
    rule: dict[str, Any] = {"ErrorEquals": [ALL] if ALL in errors else [e for e in errors if e not in NEVER_RETRIED]}
    if retry.strategy == "immediate":
        findings.add(rules.SHORTEST_DELAY, "retries wait one second: a state machine has no shorter delay", retry.at)
    elif retry.delay != int(retry.delay) or retry.delay < 1:
        findings.add(rules.WHOLE_SECONDS, f"a delay of {retry.delay:g} s becomes {whole(retry.delay)} s", retry.at)
    first = 1 if retry.strategy == "immediate" else whole(retry.delay)
    rate = float(retry.multiplier) if retry.strategy == "exponential" else 1.0
    longest = None if retry.max_delay is None else whole(retry.max_delay)
    if longest is not None and longest <= first:
        first, rate, longest = longest, 1.0, None
    rule["IntervalSeconds"] = first
    rule["MaxAttempts"] = retry.max_attempts - 1
    rule["BackoffRate"] = int(rate) if rate == int(rate) else rate
    if longest is not None and rate > 1:
        rule["MaxDelaySeconds"] = longest
    if retry.jitter:
        rule["JitterStrategy"] = "FULL"
    if not rule["ErrorEquals"]:
        return []
    if ALL in errors:
        return [{"ErrorEquals": sorted(NEVER_RETRIED), "MaxAttempts": 0}, rule]
    return [rule]


def _plan(retry: Retry) -> dict[str, Any]:
    plan: dict[str, Any] = {"max_attempts": retry.max_attempts, "delays": delays(retry), "on": [*retry.on]}
    if retry.strategy == "adaptive":
        top = retry.max_delay if retry.max_delay is not None else max(60.0, plan["delays"][-1])
        plan["delays"] = sorted({*plan["delays"], *(d for d in (1.0, 2.0, 5.0, 10.0, 30.0, 60.0) if d <= top), top})
        plan["adaptive"] = True
    return plan


def _planned_rules(retry: Retry, planned: list[float], findings: Findings) -> Rules:
    """One rule for each delay, named `Retry.<n>` by the step's function, and one for attempts it cannot report on."""
    findings.add(
        rules.RETRY_APPROXIMATED,
        f"{retry.strategy} delays are exact for errors of the step, and near for attempts that time out",
        retry.at,
    )
    attempts = retry.max_attempts - 1
    found: Rules = []
    for number, delay in enumerate(planned, 1):
        rule: dict[str, Any] = {"ErrorEquals": [f"Retry.{number}"], "IntervalSeconds": whole(delay), "BackoffRate": 1}
        rule["MaxAttempts"] = attempts if retry.strategy == "adaptive" else 1
        if retry.jitter:
            rule["JitterStrategy"] = "FULL"
        found.append(rule)
    timeouts = [name for name in TIMEOUTS if not retry.on or name in retry.on or ALL in retry.on]
    rate = {"linear": 1.5, "fibonacci": 1.6}.get(retry.strategy, 2)
    found.append({
        "ErrorEquals": [*(name for name in timeouts if name.startswith(("States.", "Sandbox."))), *LAMBDA_SERVICE],
        "IntervalSeconds": whole(retry.delay),
        "MaxAttempts": attempts,
        "BackoffRate": rate,
    })
    return found
