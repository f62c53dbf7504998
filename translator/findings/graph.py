"""Steps and the edges between them. Codes start with G."""

from __future__ import annotations

from translator.diagnostics import Rule, Severity
