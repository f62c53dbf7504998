"""Expressions and templates. Codes start with E."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity
