"""A workflow as a drawing in one of several languages."""

from __future__ import annotations

from translator.diagram.dot import dot
from translator.diagram.mermaid import mermaid
from translator.diagram.scene import scene
from translator.diagram.svg import svg
from translator.model.workflow import Workflow

_WRITERS = {"mermaid": mermaid, "dot": dot, "svg": svg}
FORMATS = tuple(_WRITERS)


def draw(workflow: Workflow, form: str) -> str:
    """The drawing as text; `form` is one of `FORMATS`. The same workflow gives the same bytes."""
    return _WRITERS[form](scene(workflow))
