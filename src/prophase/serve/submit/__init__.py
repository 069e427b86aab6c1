"""What asks at the moment a job is submitted: Kubernetes' admission, Slurm's job_submit."""

from fastapi import APIRouter

router = APIRouter()
