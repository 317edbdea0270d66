"""Energy of a region from the hardware's own counters, and the carbon dioxide it causes.

Nothing is worked out from a nominal power: what has no counter, or none that may be read, is unknown. The counters are
of whole devices: on a shared machine they hold the others' work too.
"""

from __future__ import annotations

from collections.abc import Mapping

from .carbon import Intensity
from .metrics import CarbonMetrics, EnergyMetrics
from .system import Why
from .unknown import Metric, Unknown, is_unknown

RELIABLE_FROM_S = 2.0
"""The counters move about every 100 ms; below this time that is too coarse."""
JOULES_IN_KWH = 3_600_000.0


def energy_metrics(joules: Mapping[str, float], seconds: float, why: Why) -> EnergyMetrics:
    """The energy of a region out of the growth of each counter."""
    gpus = {name: value for name, value in joules.items() if name.startswith("gpu.")}
    parts: dict[str, Metric] = {
        "gpu": sum(gpus.values()) if gpus else Unknown(why("gpu.0.energy_j")),
        "cpu": _of(joules, "host.cpu_energy_j", why),
        "dram": _of(joules, "host.dram_energy_j", why),
    }
    words = {
        "gpu": f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''} (NVML counter)",
        "cpu": "CPU (RAPL)",
        "dram": "memory (RAPL)",
    }
    known = [name for name, value in parts.items() if not is_unknown(value)]
    if not known:
        reason = "; ".join(dict.fromkeys(str(getattr(parts[name], "reason")) for name in ("gpu", "cpu")))
        return EnergyMetrics(Unknown(reason), parts["gpu"], parts["cpu"], parts["dram"], "none", False)
    unmeasured = [name.upper() for name in ("gpu", "cpu") if name not in known]
    source = "measured: " + ", ".join(words[name] for name in known)
    if unmeasured:
        source += "; not measured: " + ", ".join(unmeasured)
    total = sum(parts[name] for name in known)
    return EnergyMetrics(total, parts["gpu"], parts["cpu"], parts["dram"], source, seconds >= RELIABLE_FROM_S)


def carbon_metrics(energy: EnergyMetrics, tracked: bool, intensity: Intensity | None, pue: float) -> CarbonMetrics:
    """Measured energy times a stated intensity.

    >>> energy = EnergyMetrics(3_600_000.0, 3_600_000.0, Unknown(), Unknown(), "measured: 1 GPU (NVML counter)", True)
    >>> carbon_metrics(energy, True, Intensity(56.0, "France"), pue=1.5).grams
    84.0
    """
    if not tracked:
        off = Unknown("carbon was not asked for: track_carbon is off")
        return CarbonMetrics(off, off, "none")
    if intensity is None:
        lacking = Unknown(
            "no carbon intensity was stated: pass carbon_intensity_g_per_kwh=... or country=... ('world' for the mean)"
        )
        return CarbonMetrics(lacking, lacking, "none")
    if is_unknown(energy.total_j):
        reason = f"no energy was measured: {getattr(energy.total_j, 'reason')}"
        return CarbonMetrics(Unknown(reason), intensity.grams_per_kwh, intensity.source)
    grams = energy.total_j / JOULES_IN_KWH * pue * intensity.grams_per_kwh
    source = f"estimate: energy ({energy.source}) x intensity ({intensity.source})"
    return CarbonMetrics(grams, intensity.grams_per_kwh, source + (f" x PUE {pue:g}" if pue != 1.0 else ""))


def _of(joules: Mapping[str, float], name: str, why: Why) -> Metric:
    return joules[name] if name in joules else Unknown(why(name))
