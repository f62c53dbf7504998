"""Executions for people: a heading, the steps as a tree, bars over time, costs, tables. Lines of styled parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO

from aslant.executions.plan import Plan
from aslant.executions.records import Failure
from aslant.executions.states import ACTIVE
from aslant.executions.view import ExecutionView, StepView
from infra.cli.output import colours, console
from infra.cli.watch import LONGEST_REASON, duration, settled_of, to_the_point
from translator.reporting import visible

Line = list[tuple[str, str]]  # text and style
Child = Callable[[str], ExecutionView | None]

_MARKS = {
    "not_started": "·", "running": "▶", "waiting_approval": "?", "retrying": "↻", "completed": "✓", "failed": "✗",
    "skipped": "–", "cancelled": "◌",
}
STYLES: Mapping[str, str] = {
    "not_started": "dim", "running": "cyan", "waiting_approval": "bold magenta", "retrying": "yellow", "completed": "green",
    "failed": "bold red", "skipped": "dim", "cancelled": "yellow", "timed_out": "bold red", "paused": "bold yellow",
    "rolling_back": "yellow", "rolled_back": "yellow", "pending": "cyan",
}
_BARS = {"completed": "█", "failed": "x", "cancelled": "-", "running": "▒", "waiting_approval": "▒", "retrying": "▒"}
_FIRST = frozenset({"failed", "running", "waiting_approval", "retrying"})  # of many, these are shown
_STOPPED = ("paused", "cancelled")  # by somebody, who may have said why
_DEPTH = 5  # of executions inside of executions
WIDTH = 48  # characters of the bars
SHOWN = 24  # steps inside of one parallel or loop; the rest is counted


def put(lines: Sequence[Line], stream: IO[str]) -> None:
    """Writes lines, with colours on a terminal that has them."""
    if colours(stream):
        from rich.text import Text

        out = console(stream)
        for line in lines:
            out.print(Text.assemble(*line))
        return
    stream.write("".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines))


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Mapping[int, Mapping[str, str]] | None = None
) -> list[Line]:
    """Columns as wide as their longest entry. `styles`: by column and its text."""
    widths = [max(len(head), *(len(row[at]) for row in rows)) if rows else len(head) for at, head in enumerate(heads)]
    lines: list[Line] = [[("  ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)), "dim")]]
    for row in rows:
        line: Line = []
        for at, (text, width) in enumerate(zip(row, widths, strict=True)):
            line.append((text.ljust(width) + "  ", (styles or {}).get(at, {}).get(text, "")))
        lines.append(line)
    return lines


def when(millis: int | None) -> str:
    """Epoch milliseconds as the local time."""
    if millis is None:
        return ""
    return datetime.fromtimestamp(millis / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def because(found: Failure, label: str = "") -> str:
    """A failure in one line."""
    message = " ".join(to_the_point(found.message, label).split())
    if len(message) > LONGEST_REASON:
        message = message[:LONGEST_REASON] + "…"
    return visible(f"{found.error}: {message}" if message else found.error)


def heading(view: ExecutionView) -> list[Line]:
    """What it is, how it stands, since when."""
    one = view.execution
    status = one.status.replace("_", " ") + (f" ({view.substate.replace('_', ' ')})" if view.substate else "")
    paused = f", paused {duration(view.paused / 1000)}" if view.paused else ""
    lines: list[Line] = [
        [(visible(one.workflow or "?"), "bold"), (f" {visible(one.version)}  ", ""), (visible(one.id), "dim")],
        [(status, STYLES.get(one.status, "")), (f"  {settled_of(view.done, view.total)}, {duration(view.duration / 1000)}"
            f"{paused}, started {when(one.started_at)} by {visible(one.user or '?')}", "")],
    ]  # fmt: skip
    if one.run > 1:
        why = next((run for run in view.runs if run.number == one.run), None)
        about = ""
        if why is not None:
            about = f": {why.why} {why.detail if why.why != 'recover' else ''}".rstrip() + f" by {why.by}"
        lines.append([(f"run {one.run}{visible(about)}", "")])
    if one.parent is not None:
        lines.append([(f"part of {visible(one.parent.execution)}, step {visible(one.parent.step)}", "")])
    if one.error is not None:
        step = one.error.step + "".join(f"[{index}]" for index in one.error.iteration)
        lines.append([(f"{visible(step)}: " if step else "", "bold"), (because(one.error, step), "red")])
    if one.status in _STOPPED and one.reason:
        lines.append([(f"reason: {visible(one.reason)}", "")])
    for word, labels in (("undone", one.undone), ("could not be undone", one.not_undone)):
        if labels:
            lines.append([(f"{word}: {visible(', '.join(labels))}", "")])
    if one.sla_breached:
        lines.append([("it is later than it should be", "yellow")])
    return lines


def tree(view: ExecutionView, child: Child, *, shown: int = SHOWN) -> list[Line]:
    """The steps, those of children nested beneath the step that started them."""
    return list(_branch(view.steps, "  ", child, shown, _DEPTH))


def _branch(steps: Sequence[StepView], indent: str, child: Child, shown: int, depth: int) -> Iterator[Line]:
    picked = _worth_showing(steps, shown)
    for step in picked:
        yield [(indent, ""), *_row(step)]
        yield from _branch(step.steps, indent + "  ", child, shown, depth)
        for id in step.executions[-1:]:
            found = child(id) if depth else None
            if found is None:
                yield [(f"{indent}  execution {visible(id)}", "dim")]
            else:
                about = f"{visible(found.execution.workflow)} {visible(id)} {found.execution.status.replace('_', ' ')}"
                yield [(f"{indent}  {about}", "dim")]
                yield from _branch(found.steps, indent + "    ", child, shown, depth - 1)
    if len(picked) < len(steps):
        rest = [step.status for step in steps if step not in picked]
        counts = ", ".join(f"{rest.count(status)} {status.replace('_', ' ')}" for status in dict.fromkeys(rest))
        yield [(f"{indent}… {len(rest)} more: {counts}", "dim")]


def _worth_showing(steps: Sequence[StepView], shown: int) -> Sequence[StepView]:
    """Those that failed or are at work first, then the latest; in their order."""
    if len(steps) <= shown:
        return steps
    order = sorted(range(len(steps)), key=lambda at: (steps[at].status not in _FIRST, -at))
    return [steps[at] for at in sorted(order[:shown])]


def _row(step: StepView) -> Line:
    parts: Line = [(f"{_MARKS[step.status]} {visible(step.label)}", STYLES[step.status])]
    if step.duration is not None:
        parts.append((f"  {duration(step.duration / 1000)}", ""))
    if step.attempts > 1:
        parts.append((f"  {step.attempts} attempts", "yellow"))
    if step.status == "waiting_approval":
        parts.append(("  waits for an answer", "magenta"))
    if step.outcome:
        parts.append((f"  {visible(step.outcome)}", "dim"))
    if step.error is not None:
        parts.append((f"  {because(step.error, step.label)}", "red"))
    return parts


def timeline(view: ExecutionView, child: Child, width: int = WIDTH) -> list[Line]:
    """When each step ran, as bars on the scale of the whole execution; those of children beneath the step that called them."""
    rows = list(_started(view, child, "", _DEPTH))
    if not rows:
        return []
    steps = [step for _, step in rows]
    first = min(view.execution.started_at * 1000, *(step.started_at or 0 for step in steps))
    ends = [(step.started_at or 0) + (step.duration or 0) * 1000 for step in steps]
    total = max(max(ends) - first, 1_000) / 1_000_000
    column = max(len(label) for label, _ in rows)
    lines: list[Line] = [[(f"{'':{column}}  0{duration(total):>{width - 1}}", "dim")]]
    for label, step in rows:
        begin, length = ((step.started_at or 0) - first) / 1_000_000, (step.duration or 0) / 1000
        start = min(width - 1, max(0, round(begin / total * width)))
        cells = max(1, min(width - start, round(length / total * width)))
        bar = (" " * start + _BARS.get(step.status, "·") * cells).ljust(width)
        lines.append([(f"{label:{column}}  ", ""), (bar, STYLES[step.status]), (f"  {_note(step)}", "")])
    return lines


def _started(view: ExecutionView, child: Child, indent: str, depth: int) -> Iterator[tuple[str, StepView]]:
    """Steps with the labels that show where they belong."""
    for step in view.timeline:
        yield indent + visible(step.label), step
        for id in step.executions[-1:]:
            found = child(id) if depth else None
            if found is not None:
                yield from _started(found, child, indent + "  ", depth - 1)


def _note(step: StepView) -> str:
    parts = [duration((step.duration or 0) / 1000)]
    if step.attempts > 1:
        parts.append(f"{step.attempts} attempts")
    if step.error is not None:
        parts.append(step.error.error)
    return ", ".join(parts)


def costs(view: ExecutionView, child: Child) -> list[Line]:
    """What it would cost on AWS, by what it is made of; and what the executions do that it started."""
    parts = ", ".join(f"{name} {_usd(value)}" for name, value in view.cost.parts.items() if value)
    lines: list[Line] = [[(f"on AWS this costs about {_usd(view.cost.usd)}" + (f" ({parts})" if parts else ""), "")]]
    lines += [[(f"  without {visible(text)}", "")] for text in view.cost.left_out]
    started = [*_descendants(view, child, _DEPTH)]
    if started:
        many = "execution that it started" if len(started) == 1 else f"{len(started)} executions that it started"
        lines.append([(f"  and the {many}: {_usd(sum(one.cost.usd for one in started))}", "")])
        left_out = dict.fromkeys(text for one in started for text in one.cost.left_out)
        lines += [[(f"  without {visible(text)}", "")] for text in left_out]
    return lines


def _descendants(view: ExecutionView, child: Child, depth: int) -> Iterator[ExecutionView]:
    for one in view.children if depth else ():
        found = child(one.id)
        if found is not None:
            yield found
            yield from _descendants(found, child, depth - 1)


def _usd(value: float) -> str:
    return f"${value:.2f}" if value >= 1 else f"${value:.6f}".rstrip("0").rstrip(".") if value >= 0.000001 else "$0"


def plan(found: Plan) -> list[Line]:
    """What a run would do with each step that is recorded."""
    lines: list[Line] = [[(f"{found.what} on version {visible(found.version)}:", "bold")]]
    styles = {"kept": "green", "re-runs": "yellow", "computed again": "dim", "gone": "red"}
    width = max(8, *(len(step.action) for step in found.steps), 0)
    for step in found.steps:
        note = "; what it does outside is done again" if step.repeats else ""
        lines.append([
            (f"  {step.action:{width}} ", styles.get(step.action, "")), (visible(step.label), ""),
            (f"  {visible(step.why)}{note}", "dim"),
        ])  # fmt: skip
    if not found.steps:
        lines.append([("  no step is recorded yet", "dim")])
    return lines


def is_over(view: ExecutionView) -> bool:
    return view.execution.status not in ACTIVE and view.execution.status != "paused"
