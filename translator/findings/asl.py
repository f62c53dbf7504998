"""What the machine can or cannot say, and its limits. Codes start with A."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity
