"""The place of this process in a job, as launchers tell it."""

from __future__ import annotations

import os

#: How launchers tell a process its rank and how many there are: torchrun and accelerate, Open MPI, MPICH, SLURM.
_PLACES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def process_place() -> tuple[int, int] | None:
    """The rank of this process and how many there are, if a launcher has said so."""
    for rank, size in _PLACES:
        try:
            return int(os.environ[rank]), int(os.environ[size])
        except (KeyError, ValueError):
            continue
    return None


def has_peers() -> bool:
    """Whether this is one of several processes of a job."""
    place = process_place()
    return place is not None and place[1] > 1
