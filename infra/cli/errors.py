"""Exit codes, and the error for what a user can put right on the command line."""

from __future__ import annotations

FINE = 0
FINDINGS = 1
USAGE = 2
RUN_FAILED = 3
INTERNAL = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130


class UsageError(Exception):
    """Wrong arguments, or a file that cannot be read or written. Its message is printed as it is; exit code 2."""
