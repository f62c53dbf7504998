"""Drawings of a workflow."""

from translator.diagram.draw import FORMATS, draw

__all__ = ["FORMATS", "draw"]
