"""Why a counter of the machine is not known: switched off, not there, not permitted, or too short a time."""

from __future__ import annotations

from dataclasses import dataclass

from .._monitors import shared_monitor
from .counters import MonitorLike


@dataclass(frozen=True)
class WatchSettings:
    """What the profiler was asked to watch."""

    gpu: bool
    system: bool
    network: bool
    cpu_temperature: bool
    memory: bool
    energy: bool
    interval_s: float

    @property
    def anything(self) -> bool:
        """Whether a monitor is needed at all."""
        return self.gpu or self.system or self.memory or self.energy or self.network or self.cpu_temperature

    def monitor(self) -> MonitorLike:
        """The monitor that watches it, shared with everyone who watches the same."""
        return shared_monitor(
            self.interval_s,
            gpu=self.gpu,
            network=self.network,
            disk=self.system,
            temperature=self.cpu_temperature,
        )


def why_unknown(counter: str, watched: WatchSettings, monitor: MonitorLike | None) -> str:
    """The reason for which there is no value of ``counter``."""
    switched_off = _switched_off(counter, watched)
    if switched_off:
        return switched_off
    if monitor is None:
        return "no region has been watched yet"
    for lack in monitor.missing():
        if _concerns(lack["what"], counter):
            fix = lack.get("fix", "")
            return f"{lack['what']}: {lack['reason']}" + (f" ({fix})" if fix else "")
    return (
        f"no sample of it was taken in so short a time: samples are {watched.interval_s:g} s apart, and the kernel"
        " counts in steps of 0.01 s"
    )


def _switched_off(counter: str, watched: WatchSettings) -> str:
    if counter.startswith("gpu.") and not watched.gpu:
        return "GPUs were not watched: track_gpu is off"
    if counter.startswith("process.") and not watched.anything:
        return "memory was not watched: track_system, track_gpu and detailed_memory are off"
    if counter.startswith("host.network") and not watched.network:
        return "the network was not watched: track_network is off"
    if counter == "host.cpu_temperature_c" and not watched.cpu_temperature:
        return "the temperature was not watched: track_cpu_temp is off"
    energy = counter.endswith("energy_j")
    if counter.startswith("host.") and not energy and not watched.system:
        if not counter.startswith(("host.network", "host.cpu_temperature")):
            return "the machine was not watched: track_system is off"
    if energy and not watched.anything:
        return "energy was not watched: track_carbon, track_system and track_gpu are off"
    return ""


def _concerns(what: str, counter: str) -> bool:
    """Whether a missing sensor, as the monitor names it, is the one behind a counter."""
    if what == "process":
        return counter.startswith("process.")
    if what == "CPU":
        return counter in ("host.cpu_percent", "host.io_wait_percent", "host.load_1m")
    if what == "memory":
        return counter.startswith(("host.memory", "host.swap"))
    if what == "network":
        return counter.startswith("host.network")
    if what == "disk":
        return counter.startswith("host.disk")
    if what == "CPU temperature":
        return counter == "host.cpu_temperature_c"
    if what == "CPU energy":
        return counter in ("host.cpu_energy_j", "host.dram_energy_j")
    if what.startswith("NVIDIA GPU"):
        return counter.startswith("gpu.")
    if what.startswith("GPU ") and counter.startswith("gpu."):
        words = what.split(maxsplit=2)
        same_device = words[1] == counter.split(".")[1]
        named = counter.split(".")[2].replace("_", " ")
        return same_device and (len(words) < 3 or named.startswith(words[2].lower()))
    return False
