"""Calls of this package as jobs of a Slurm cluster.

`submit` hands a call over; a `Job` says how it stands and has its result, also in another session.
"""

from .job import Failed, Job, Status
from .submitting import submit

__all__ = ["Failed", "Job", "Status", "submit"]
