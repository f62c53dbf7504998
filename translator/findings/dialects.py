"""Reading a dialect: unknown keys, wrong types, shapes that fit no dialect. Codes start with D."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity
