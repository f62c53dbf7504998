"""Imported once, by the server that the processes of `aslant dev` are forked from: what is slow there has been done once.

Nothing of the `dev` that is entered and left here stays but what Python and the libraries keep: modules and parsed models.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import infra.local.publishing  # noqa: F401

from infra.local.dev import dev
from infra.local.home import Home

for _name in [*os.environ]:
    if _name.startswith(("ASLANT_", "AWS_")):
        del os.environ[_name]
with tempfile.TemporaryDirectory() as _folder, dev(Home(Path(_folder)), port=0) as _running:
    _running.go_on()
