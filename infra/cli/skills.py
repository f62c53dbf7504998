"""Skills: what is registered, what it takes and gives, and what a call gives.

With --skills the Python functions of a module are shown or called here; otherwise the registry of a running `aslant dev`.
`add` registers one from a YAML or JSON file with its specification: name, version, description, owner, status (active,
inactive, deprecated), target (an address or a Lambda function) or code (Python text that defines `execute`, for the sandbox),
parameters and returns (JSON Schema), rate_limit, circuit_breaker; or spelled as custom agents are, with agent_name,
tool_specification and implementation. What a version takes, gives and calls never changes; added again, it changes its other
words, such as the status.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from infra.cli import pictures
from infra.cli.errors import FINDINGS, FINE, RUN_FAILED, UsageError
from infra.cli.output import put_json
from infra.cli.target import TENANT, add_json, add_target, connected
from translator.reporting import visible

if TYPE_CHECKING:
    from aslant.settings import Settings
    from aslant.skill_specs import SkillSpec
    from aslant.skills import Entry

EXAMPLES = """\
examples:
  aslant skills list --skills skills.py
  aslant skills show test_runner --skills skills.py
  aslant skills test test_runner -i suite=unit --skills skills.py
  aslant skills add crm.yaml                 into the registry of a running `aslant dev`
  aslant skills list
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "show", "test"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the skill, for show and test; for add the file, or -")
    parser.add_argument("--version", dest="skill_version", metavar="V", help="a version, or how it begins")
    parser.add_argument("--skills", action="append", default=[], metavar="MODULE", help="a Python module or file with skills")
    parser.add_argument("-i", "--input", action="append", default=[], metavar="INPUT",
        help="arguments, for test: a JSON object, @FILE with one, or NAME=VALUE (read by the declared type)")
    add_json(parser)
    add_target(parser)


def execute(args: argparse.Namespace) -> int:
    if args.action != "list" and not args.name:
        raise UsageError(f"skills {args.action} needs {'a file' if args.action == 'add' else 'the name of a skill'}")
    if args.action == "add":
        return _add(args)
    with _known(args) as known:
        return _DO[args.action](args, known)


class Known:
    """Entries of this process and of the registry, by name and version."""

    def __init__(self, rows: list[tuple[str, str, Entry]], settings: Settings) -> None:
        self.rows = sorted(rows, key=lambda row: row[:2])
        self.settings = settings

    def find(self, name: str, version: str | None) -> Entry:
        """Raises UsageError when there is none that may be called."""
        from aslant import skills
        from aslant.errors import SkillNotFound
        from aslant.skill_specs import pick

        mine = [entry for known, _, entry in self.rows if known == name]
        try:
            chosen = pick(name, [entry.spec for entry in mine if entry.spec is not None], version)
        except SkillNotFound as error:
            raise UsageError(str(error)) from None
        if chosen is None and not mine:
            raise UsageError(str(skills.not_found(name, sorted({row[0] for row in self.rows}))))
        return next((entry for entry in mine if entry.spec is chosen), mine[0])


@contextlib.contextmanager
def _known(args: argparse.Namespace) -> Iterator[Known]:
    from aslant import bootstrap, skills
    from aslant.errors import ValidationError
    from aslant.settings import Settings

    if args.skills:
        sys.path.insert(0, "")
        try:
            for module in args.skills:
                skills.load_module(module)
        except ValidationError as error:
            raise UsageError(str(error)) from None
        yield Known(skills.entries(), Settings.read())
        return
    with connected(args) as target:
        found = bootstrap.skill_store(target.settings).all(TENANT)
        yield Known([(spec.name, spec.version, skills.Entry(spec.target, spec)) for spec in found], target.settings)


def _add(args: argparse.Namespace) -> int:
    import yaml

    from aslant import bootstrap
    from aslant.skill_registration import read_spec
    from infra.cli.files import read_all

    (source,) = read_all([args.name])
    try:
        written = yaml.safe_load(source.text)
    except (yaml.YAMLError, UnicodeError) as error:
        raise UsageError(f"{args.name} is neither YAML nor JSON: {visible(str(error))}") from None
    specs: list[SkillSpec] = []
    wrong = []
    for number, one in enumerate(written if isinstance(written, list) else [written], 1):
        named = isinstance(one, dict) and (one.get("name") or one.get("agent_name"))
        spec, found = read_spec(one)
        wrong += [f"{args.name}: {named or f'skill {number}'}: {each}" for each in found]
        specs += [spec] if spec is not None else []
    if wrong:
        print("\n".join(visible(each) for each in wrong), file=sys.stderr)
        return FINDINGS
    with connected(args) as target:
        store = bootstrap.skill_store(target.settings)
        for spec in specs:
            store.put(TENANT, spec)
    if args.json:
        put_json([_document(spec) for spec in specs])
    else:
        for spec in specs:
            print(visible(f"{spec.name} {spec.version} is registered, {spec.status}"))
    return FINE


def _document(spec: SkillSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_none=True)


def _list(args: argparse.Namespace, known: Known) -> int:
    from aslant.skill_specs import SkillSpec, as_text

    if args.json:
        put_json([_document(entry.spec or SkillSpec(name=name)) for name, _, entry in known.rows])
        return FINE
    rows = [
        (visible(name), version, entry.spec.status if entry.spec else "active", visible(entry.spec.owner if entry.spec else ""),
         visible(as_text(entry.target)), visible(entry.spec.description if entry.spec else ""))
        for name, version, entry in known.rows
    ]
    if not rows:
        print("no skills are registered; `aslant skills add FILE` registers one, --skills MODULE shows those of a module",
            file=sys.stderr)
        return FINE
    pictures.put(pictures.table(("name", "version", "status", "owner", "target", "description"), rows), sys.stdout)
    return FINE


def _show(args: argparse.Namespace, known: Known) -> int:
    import yaml

    from aslant.skill_specs import SkillSpec, as_text

    entry = known.find(args.name, args.skill_version)
    document = _document(entry.spec or SkillSpec(name=args.name))
    if not isinstance(entry.target, str):
        document["target"] = as_text(entry.target)
    if args.json:
        put_json(document)
    else:
        sys.stdout.write(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return FINE


def _test(args: argparse.Namespace, known: Known) -> int:
    from aslant import bootstrap, skill_calls
    from aslant.guards import GuardPorts
    from infra.cli.arguments import gather, print_problems

    entry = known.find(args.name, args.skill_version)
    properties = ((entry.spec.parameters or {}) if entry.spec else {}).get("properties")
    rows = {name: {key: value for key, value in row.items() if key != "default"} for name, row in (properties or {}).items()}
    given, wrong = gather(rows if entry.spec and entry.spec.parameters else None, args.input)
    if wrong:
        print_problems(wrong)
        return FINDINGS
    started = time.monotonic()

    def none() -> Any:
        raise UsageError("limits are not counted here")

    if entry.spec is not None:  # a try-out counts for nobody
        entry = entry._replace(spec=entry.spec.model_copy(update={"rate_limit": None, "circuit_breaker": None}))
    try:
        value = skill_calls.call(
            args.name, entry.target, given, _Caller(known.settings), lambda: bootstrap.http(known.settings),
            lambda: bootstrap.functions(known.settings), key="aslant-skills-test", spec=entry.spec,
            guards=GuardPorts(none, none),
        )
        text = json.dumps(value, indent=2, ensure_ascii=False)
    except UsageError:
        raise
    except Exception as error:  # whatever the skill raises is what its test shows
        if args.json:
            put_json({"error": type(error).__name__, "message": str(error)})
        print(visible(f"aslant: {type(error).__name__}: {error}"), file=sys.stderr)
        return RUN_FAILED
    print(text)
    print(f"{args.name} took {time.monotonic() - started:.1f} s", file=sys.stderr)
    return FINE


class _Caller:
    """Somebody at the command line, who calls without a workflow."""

    def __init__(self, settings: Settings) -> None:
        from aslant.configs.guard import Guard
        from aslant.secrets import Redactor

        self.settings, self.redactor, self.guard, self.tenant = settings, Redactor(), Guard(), TENANT

    def remaining(self, limit: float | None = None) -> float:
        return min(60.0, limit or 60.0)


_DO: dict[str, Callable[[argparse.Namespace, Known], int]] = {"list": _list, "show": _show, "test": _test}
