"""What is recorded of so many iterations must not depend on how long a busy machine takes for them: ten are the
beginning, and the first window opens as soon as one can."""

from __future__ import annotations

from stepscope._launch import recording_limits, window

recording_limits.BEGINNING_SECONDS, window._BEGINNING_S = 600.0, float("inf")
window._STEADY_RATIO = window._MAX_ERROR = float("inf")
