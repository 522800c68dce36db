"""Small stand-in charts: names, workloads, labels and value keys of the real ones, for places without a network."""

from __future__ import annotations

from pathlib import Path

CHARTS_FOLDER = Path(__file__).resolve().parent
