"""Runs one script in a process of its own. Started by `sandbox_seal.py` as `python -I -S sandbox_runner.py`.

Reads {"script", "names", "limits"} as JSON from standard input, locks itself in, runs the script, and writes
{"value": …} or {"error": …, "line": …} to the pipe that was its standard output. Imports nothing of the product.

The locks, each of which holds on its own: no environment, limits of the kernel, the filter of `sandbox_seal`, no further
modules of C code, no code that is not compiled here, and an audit hook that refuses every event that is not on a short
list.
"""

import ast
import io
import itertools
import json
import os
import resource
import sys
from typing import Any

# Modules that scripts expect. They are imported before the locks close, so that no later import needs more rights.
_USUAL = (
    "array", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "contextlib", "copy", "csv", "dataclasses",
    "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "importlib.machinery",
    "importlib.util", "ipaddress", "itertools",
    "json", "locale", "math", "operator", "pathlib", "pprint", "random", "re", "secrets", "statistics", "string", "struct",
    "textwrap", "time", "typing", "unicodedata", "urllib.parse", "uuid", "zlib", "zoneinfo", "_strptime",
)

_EVENTS = frozenset({
    "import", "compile", "exec", "object.__getattr__", "object.__setattr__",
    "object.__delattr__", "builtins.id", "sys._getframe", "time.sleep", "array.__new__", "sys.unraisablehook",
    "sys.excepthook", "pickle.find_class", "cpython._PySys_ClearAuditHooks", "cpython.PyInterpreterState_Clear",
    "cpython.run_stdin", "os.putenv", "os.unsetenv",
})
_PATH_EVENTS = frozenset({"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rmdir"})
_REFUSED_MODULES = frozenset({
    "ctypes", "_ctypes", "_posixsubprocess", "subprocess", "multiprocessing", "_multiprocessing", "socket", "_socket",
    "ssl", "_ssl", "asyncio", "mmap", "fcntl", "pty", "gc", "faulthandler", "readline", "cffi", "_cffi_backend",
    "site", "ensurepip", "pip", "resource", "_testcapi", "_testinternalcapi", "_xxsubinterpreters", "code", "webbrowser",
})
# Functions of `os` that no audit event tells of, and that reach beyond the folder or leave something behind that is hard
# to remove.
_UNTOLD = frozenset({"readlink", "mknod", "mkfifo", "chroot", "setsid", "setpgid", "openpty", "umask"})
_MOST_ENTRIES = 50  # files and folders that a script makes; each file has a limit of its own


def limit(limits: dict[str, int]) -> None:
    """Limits of the kernel for this process; the hard ones too, so that they cannot be raised again."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


def forget_extensions() -> None:
    """From here on no module of C code can be loaded: every other way to memory or the kernel starts with one."""
    import _imp

    def refuse(*_: Any) -> Any:
        raise ImportError("the sandbox loads no more modules of C code")

    machinery: Any = _imp
    machinery.create_dynamic = machinery.create_builtin = refuse
    # Code that no compiler made can reach memory. So there is none: modules are compiled from their source from now on.
    machinery.get_frozen_object = refuse
    sys.implementation.cache_tag = None  # type: ignore[assignment]


def forget_untold() -> None:
    """Takes functions out of `os` that the audit hook would not see."""
    for name in _UNTOLD:
        function = getattr(os, name, None)
        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            group.discard(function)
        for module in (os, sys.modules["posix"]):
            if hasattr(module, name):
                delattr(module, name)


def lock(own: str, library: str) -> None:
    """The audit hook. It uses nothing that a script could exchange: only values of its own and their methods.

    They are defaults of its parameters: a script gets hold of the frame of a call, but not of the function, and a frame's
    locals are new in the next call.
    """
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    made = itertools.count().__next__

    def hook(
        event: str, args: tuple[Any, ...], *, events: Any = _EVENTS, path_events: Any = _PATH_EVENTS,
        refused: Any = _REFUSED_MODULES, text: Any = str, error: Any = PermissionError, kind: Any = type, number: Any = int,
        own: str = own, own_prefix: str = own + "/", library: str = library, library_prefix: str = library + "/",
        writing: int = writing, creating: int = os.O_CREAT, made: Any = made,
        most: int = _MOST_ENTRIES,
    ) -> None:
        if event in path_events:
            path = args[0]
            if event == "open" and kind(path) is number:
                return
            if kind(path) is text and "\0" not in path and "/../" not in "/" + path + "/":
                inside = path.startswith(own_prefix) or path == own or not path.startswith("/")
                if inside:
                    # A folder without all of its owner's rights could not be removed.
                    if event == "os.mkdir" and args[1] & 0o700 != 0o700:
                        raise error("the sandbox refuses a folder that it cannot read")
                    if (event == "os.mkdir" or (event == "open" and args[2] & creating)) and made() >= most:
                        raise error("the sandbox refuses more than " + text(most) + " files and folders")
                    return
                if path.startswith(library_prefix) or path == library:
                    if event == "os.listdir" or event == "os.scandir":
                        return
                    # os.open, which has no mode, could open a folder, and then any name in it with `dir_fd`.
                    reading = event == "open" and args[1] is not None and not args[2] & writing
                    if reading and "/site-packages" not in path:
                        return
            raise error("the sandbox refuses " + event + " outside of its own folder")
        if event == "import":
            if args[0] in refused:
                raise error("the sandbox refuses the module " + args[0])
            return
        if event not in events:
            raise error("the sandbox refuses " + event)

    sys.addaudithook(hook)


def compiled(script: str) -> Any:
    """The script as a function body; the value of a last expression is returned, or the variable `result`."""
    tree = ast.parse(script, "script")
    body = tree.body
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    elif any(isinstance(node, ast.Name) and node.id == "result" and isinstance(node.ctx, ast.Store)
             for statement in body for node in ast.walk(statement)):
        body.append(ast.Return(ast.Name("result", ast.Load())))
    wrapper: Any = ast.parse("def script(data, input, results, items): pass", "script")
    wrapper.body[0].body = body or [ast.Pass()]
    return compile(ast.fix_missing_locations(wrapper), "script", "exec")


def describe(error: BaseException) -> dict[str, Any]:
    """Class and text of a failure, and the script's line where it came from."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "script":
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        name = str(type(error).__name__)
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # noqa: BLE001 - the script's own class may fail at this
        name, text = "Exception", "its text cannot be read"
    return {"error": name + ": " + text[:2000] if text else name, "line": line}


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    answer = os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)
    os.environ.clear()
    for name in _USUAL:
        __import__(name)
    library = os.path.dirname(os.path.realpath(os.__file__))
    sys.path[:] = [path for path in sys.path if path.startswith(library) and "site-packages" not in path]
    sys.stdout = sys.stderr = io.StringIO()
    own = os.getcwd()
    limit(job["limits"])
    try:
        program = compiled(job["script"])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        send(answer, describe(error))
        return
    names = job["names"]
    del job
    for name in [*_REFUSED_MODULES, "__main__"]:
        sys.modules.pop(name, None)
    forget_extensions()
    forget_untold()
    lock(own, library)
    try:
        space: dict[str, Any] = {"__name__": "script", "__builtins__": __builtins__}
        exec(program, space)  # noqa: S102 - this is what the locks are for
        value = space["script"](*(names.get(name) for name in ("data", "input", "results", "items")))
        if isinstance(value, (map, filter, zip, range, set, frozenset, tuple)) or hasattr(value, "__next__"):
            value = list(value)
        text = json.dumps({"value": value}, allow_nan=False)
    except BaseException as error:  # noqa: BLE001 - exits and interrupts are failures of the script too
        text = json.dumps(describe(error))
    write(answer, text)


def send(answer: int, value: dict[str, Any]) -> None:
    write(answer, json.dumps(value))


def write(answer: int, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(answer, data):]


main()
