"""The CDK app: the stacks of an installation. `make synth` runs it, `make deploy` deploys them.

Settings come from the context: `-c stage=prod -c alarm_email=…` (`infra/settings.py`). Definitions in `infra/workflows/` are
compiled here; one with errors ends the synthesis with its findings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from aslant import event_log
from infra.assets import ROOT, LayerError
from infra.cli.output import print_findings
from infra.constructs.nag import accept_everywhere
from infra.inventory import API
from infra.settings import SettingsError, StageSettings, read
from infra.stacks.api import ApiStack
from infra.stacks.data import DataStack
from infra.stacks.engine import EngineStack
from infra.stacks.events import EventsStack
from infra.stacks.functions import FunctionsStack
from infra.stacks.observability import ObservabilityStack
from infra.stacks.workflows import WorkflowsStack, shares
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, MissingWorkflow, Source, compile_sources

WORKFLOWS = ROOT / "infra" / "workflows"
SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Installation:
    """The stacks, in the order in which they are deployed."""

    data: DataStack
    engine: EngineStack
    functions: FunctionsStack
    events: EventsStack
    api: ApiStack
    workflows: tuple[WorkflowsStack, ...]
    observability: ObservabilityStack


def definitions(folder: Path) -> list[Compilation]:
    """What is in a folder, compiled together. Raises TranslatorError with all findings."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    root = ROOT if folder.is_relative_to(ROOT) else folder
    return compile_sources([Source(path.read_bytes(), str(path.relative_to(root))) for path in paths])


def build(app: App, settings: StageSettings, compilations: Sequence[Compilation], *, layers: bool = True) -> Installation:
    """All stacks of a stage. `layers=False` leaves third-party layers empty, for templates that nobody deploys."""
    name = f"{settings.name}-{settings.stage}"
    data = DataStack(app, f"{name}-data", settings=settings)
    engine = EngineStack(app, f"{name}-engine", settings=settings, store=data.store)
    functions = FunctionsStack(
        app, f"{name}-functions", settings=settings, store=data.store, engine=engine.engine, identity=data.identity,
        layers=layers,
    )  # fmt: skip
    events = EventsStack(
        app, f"{name}-events", store=data.store, engine=engine.engine, functions=functions.functions,
        dead_letters=functions.dead_letters,
    )  # fmt: skip
    api = ApiStack(
        app, f"{name}-api", settings=settings, function=functions.functions[API], identity=data.identity,
        stream=functions.functions[event_log.STREAM], sockets=engine.engine.sockets,
    )  # fmt: skip
    workflows = []
    for number, share in enumerate(shares(compilations, settings.workflow_stacks), 1):
        stack = WorkflowsStack(
            app, f"{name}-workflows-{number}", settings=settings, store=data.store, compilations=share
        )
        stack.add_stack_dependency(functions)
        workflows.append(stack)
    observability = ObservabilityStack(
        app, f"{name}-observability", settings=settings, store=data.store, functions=functions.functions,
        queues={"functions": functions.dead_letters, **events.dead}, api=api.api,
    )  # fmt: skip
    for key, value in {"project": settings.name, "stage": settings.stage, **settings.tags}.items():
        Tags.of(app).add(key, value)
    accept_everywhere(app)
    return Installation(data, engine, functions, events, api, tuple(workflows), observability)


def main() -> int:
    app = App()
    try:
        settings = read(app.node.try_get_context)
        compilations = definitions(Path(app.node.try_get_context("workflows") or WORKFLOWS))
        build(app, settings, compilations, layers=app.node.try_get_context("layers") != "empty")
    except TranslatorError as error:
        print_findings(error.diagnostics, {}, "text", sys.stderr)
        return 1
    except (SettingsError, LayerError, MissingWorkflow) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
