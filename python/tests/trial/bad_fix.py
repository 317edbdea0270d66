"""A fix that must never be recommended: it saves time by not training."""

from __future__ import annotations

import sys
from typing import Any

from stepscope._trial.fixes import SAME, Fix


class SkippedSteps(Fix):
    """Every step of an optimizer does nothing, so that the loss no longer falls as it should."""

    name = "skipped-steps"
    title = "skipped steps"
    numbers = SAME
    code = "# without optimizer.step()"

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0

    def prepare(self, torch: Any) -> None:
        kind: Any = sys.modules["torch.optim.optimizer"].Optimizer
        plain = kind.profile_hook_step

        def hook_step(step: Any) -> Any:
            """What stands around the steps of a class stays, so that they are still counted as steps."""

            def skip(optimizer: Any, *_args: Any, **_options: Any) -> None:
                self.skipped += 1

            return plain(skip)

        kind.profile_hook_step = staticmethod(hook_step)

    def observe(self) -> str:
        return f"{self.skipped} steps were skipped"
