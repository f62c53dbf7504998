"""Skills: named pieces of work that definitions call. Python functions are registered here, by this process.

    @skill
    def test_runner(suite: str, coverage_threshold: int = 80) -> dict: ...

    @skill(version="2.0.0", owner="quality", status="deprecated", description="Runs a suite of tests.")
    def test_runner(suite: str) -> dict: ...

A target is a Python callable, the ARN of a Lambda function or of a container's task definition, or an https address. Each takes
the step's parameters by name. What it takes and gives is read off the function's signature unless it is said; a call that does
not fit is refused before it is made.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, overload

from aslant.configs.check import problems
from aslant.contracts import Json
from aslant.errors import NetworkError, SkillNotFound, StepTimeout, ValidationError, named
from aslant.skill_specs import FIRST, SkillSpec, pick, schema_problem, spec_of

Target = Callable[..., Any] | str
F = TypeVar("F", bound=Callable[..., Any])


class Entry(NamedTuple):
    """A registered skill; what it says of itself is None for an address that came without a word."""

    target: Target
    spec: SkillSpec | None = None


_registered: dict[tuple[str, str], Entry] = {}  # by name and version
_loaded: set[str] = set()
_lock = threading.RLock()


@overload
def skill(function: F) -> F: ...
@overload
def skill(*, name: str = "", **spec: Any) -> Callable[[F], F]: ...
def skill(function: Any = None, *, name: str = "", **spec: Any) -> Any:
    """Registers the decorated function under its own name, or under `name`.

    `spec` are fields of `aslant.skill_specs.SkillSpec`. Raises ValueError for what is none.
    """

    def decorate(target: Any) -> Any:
        register(name or target.__name__, target, **spec)
        return target

    return decorate if function is None else decorate(function)


def register(name: str, target: Target, **spec: Any) -> None:
    """Registers a callable, a Lambda ARN or an http(s) address; a later registration of the same version replaces it.

    Raises ValueError for another target, and for a specification that cannot be used.
    """
    if isinstance(target, str) and not is_remote(target):
        raise ValueError(f"the skill {name} is neither callable, nor a Lambda ARN, nor an http(s) address")
    wrong = [f"{'.'.join(map(str, path))} {message}".strip() for path, message in problems(SkillSpec, {"name": name, **spec})]
    wrong += [each for what in ("parameters", "returns") if (each := schema_problem(spec.get(what), what))] if not wrong else []
    if spec and wrong:
        raise ValueError(f"the skill {name}: {'; '.join(wrong)}")
    entry = Entry(target)
    if not isinstance(target, str):
        entry = Entry(target, spec_of(name, target, **spec)) if not wrong else entry  # an odd name has no specification
    elif spec:
        entry = Entry(target, SkillSpec(name=name, target=target, **spec))
    with _lock:
        _registered[name, spec.get("version", FIRST)] = entry


def unregister(*names: str) -> None:
    """Removes skills; without names, all of them and the memory of which modules were loaded."""
    with _lock:
        for key in tuple(_registered):
            if not names or key[0] in names:
                del _registered[key]
        if not names:
            _loaded.clear()


@contextmanager
def kept() -> Iterator[None]:
    """What is registered inside is gone afterwards, and what it replaced is back."""
    with _lock:
        before = dict(_registered)
    try:
        yield
    finally:
        with _lock:
            _registered.clear()
            _registered.update(before)


def is_remote(target: str) -> bool:
    return target.startswith(("arn:", "https://", "http://"))


def load_module(path_or_name: str) -> list[str]:
    """Registers the skills of a Python module, given by its file or its dotted name; gives their names, sorted.

    Skills are the entries of the module's `SKILLS` mapping, what it registers itself, and its public functions (defined
    in it, no leading underscore) when it has no `SKILLS`. Raises ValidationError when there is no such module.
    """
    with _lock:
        before = dict(_registered)
        module = _import(path_or_name)
        table = getattr(module, "SKILLS", None)
        if isinstance(table, Mapping):
            for name, target in table.items():
                register(str(name), target)
        else:
            for name, target in vars(module).items():
                public = not name.startswith("_") and inspect.isfunction(target)
                # A function of the module, and a name that the module did not register itself just now.
                if public and target.__module__ == module.__name__ and not _changed(name, before):
                    register(name, target)
        _loaded.add(path_or_name)
        return sorted({key[0] for key, entry in _registered.items() if before.get(key) is not entry})


def _changed(name: str, before: Mapping[tuple[str, str], Entry]) -> bool:
    """Whether a version of the skill was registered since `before`."""
    return any(key[0] == name and before.get(key) is not entry for key, entry in _registered.items())


def _import(path_or_name: str) -> Any:
    is_file = path_or_name.endswith(".py") or os.sep in path_or_name
    if not path_or_name.endswith(".py") and os.path.isfile(path_or_name):
        raise ValidationError(f"skills {path_or_name}: this is no Python module (a file NAME.py, or a module's name)")
    try:
        if not is_file:
            return importlib.import_module(path_or_name)
        path = os.path.abspath(path_or_name)
        name = f"aslant_skills_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not os.path.isfile(path):
            raise ValidationError(f"there is no file of skills {path_or_name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickling look a module up by its name
        spec.loader.exec_module(module)
        return module
    except ModuleNotFoundError as error:
        raise ValidationError(f"skills {path_or_name}: there is no module {error.name}") from None
    except ValidationError:
        raise
    except Exception as error:
        raise ValidationError(f"skills {path_or_name} cannot be imported: {type(error).__name__}: {error}") from error


def find(name: str, settings_skills: Mapping[str, str], modules: Iterable[str] = ()) -> Target | None:
    """A skill's target: what this process registered, then the installation's modules, then its table. None if none."""
    entry = lookup(name, settings_skills, modules)
    return entry.target if entry is not None else None


def lookup(
    name: str, settings_skills: Mapping[str, str], modules: Iterable[str] = (), version: str | None = None
) -> Entry | None:
    """As `find`, with what the skill says of itself. Raises SkillNotFound when no version of it may be called."""
    with _lock:
        if not any(key[0] == name for key in _registered):
            for module in modules:
                if module not in _loaded:
                    load_module(module)
        versions = {key[1]: entry for key, entry in _registered.items() if key[0] == name}
    if not versions:
        return Entry(settings_skills[name]) if name in settings_skills else None
    chosen = pick(name, [entry.spec for entry in versions.values() if entry.spec is not None], version)
    return versions[chosen.version] if chosen is not None else next(iter(versions.values()))


def described(name: str, target: Target) -> SkillSpec | None:
    """What a registered target says of itself."""
    with _lock:
        return next((entry.spec for key, entry in _registered.items() if key[0] == name and entry.target is target), None)


def entries() -> list[tuple[str, str, Entry]]:
    """All that this process registered: name, version and entry, sorted."""
    with _lock:
        return sorted(((*key, entry) for key, entry in _registered.items()), key=lambda row: row[:2])


def specifications() -> dict[str, list[dict[str, Json]]]:
    """What the versions of each skill of this process say of themselves, as JSON, by name; empty for one that says nothing."""
    found: dict[str, list[dict[str, Json]]] = {}
    for name, _, entry in entries():
        found.setdefault(name, []).extend([entry.spec.model_dump(mode="json")] if entry.spec is not None else [])
    return found


def names(settings_skills: Mapping[str, str] | None = None) -> list[str]:
    """All known names, sorted."""
    with _lock:
        return sorted({*(key[0] for key in _registered), *(settings_skills or {})})


def not_found(name: str, known: list[str]) -> SkillNotFound:
    """The error for an unknown name; it lists what there is."""
    close = difflib.get_close_matches(name, known, 1, 0.6)
    hint = f"did you mean {close[0]}? " if close else ""
    listed = ", ".join(known) if known else "none"
    return SkillNotFound(f"no skill {name!r} is registered; {hint}registered: {listed}")


def call(
    name: str, target: Callable[..., Any], parameters: Mapping[str, Json], offered: Mapping[str, Json] | None = None,
    idempotency_key: str = "",
) -> Json:
    """Calls a Python skill. `offered` are further arguments, each for a skill that has a parameter of its name.

    So is `idempotency_key`, but not for one that takes arguments of any name.

    Raises ValidationError when the parameters do not fit; the skill's own errors pass through, but Python's ConnectionError
    and TimeoutError, which are NetworkError and StepTimeout here.
    """
    given = _taken(target, offered or {})
    if idempotency_key and "idempotency_key" in _names(target):
        given["idempotency_key"] = idempotency_key
    parameters = {**given, **parameters}
    try:
        inspect.signature(target).bind(**parameters)
    except TypeError as error:
        raise ValidationError(f"skill {name}: {error}; it takes {_takes(target)}") from None
    except ValueError:
        pass  # a builtin without a signature
    try:
        answer = target(**parameters)
        if inspect.isawaitable(answer):
            import asyncio  # slow to import, and few skills are coroutines

            return asyncio.run(_finish(answer))
        return answer
    except (KeyboardInterrupt, SystemExit):
        raise  # not the skill's alone: whoever runs this process ends it
    except ConnectionError as error:  # Python's own names for what retries and handlers know by ours
        raise NetworkError(str(error) or type(error).__name__) from error
    except TimeoutError as error:
        raise StepTimeout(str(error) or "the skill ran out of time") from error
    except BaseException as error:
        if isinstance(error, Exception) and _text(error) is not None:
            raise
        name, text = type(error).__name__, _text(error)
    raise named(name, "its text cannot be read" if text is None else text or name)


def _text(error: BaseException) -> str | None:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a class of the skill's own, which fails at this
        return None


def _taken(target: Callable[..., Any], offered: Mapping[str, Json]) -> dict[str, Json]:
    """What of `offered` the skill takes by name."""
    try:
        known = inspect.signature(target).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return dict(offered)
    return {name: value for name, value in offered.items() if name in _names(target)}


def _names(target: Callable[..., Any]) -> set[str]:
    """The parameters that can be given by name."""
    try:
        known = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return set()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name for name, parameter in known.items() if parameter.kind in by_name}


async def _finish(awaitable: Any) -> Any:
    return await awaitable


def _takes(target: Callable[..., Any]) -> str:
    return str(inspect.signature(target).replace(return_annotation=inspect.Signature.empty))
