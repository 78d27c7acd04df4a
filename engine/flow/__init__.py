"""The flow language: reads, merges, checks and compiles flow files."""

from engine.flow.loader import check_flow, load_flow
from engine.flow.model import Flow

__all__ = ["Flow", "check_flow", "load_flow"]
