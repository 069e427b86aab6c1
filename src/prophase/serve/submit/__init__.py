"""What asks at the moment a job is submitted: Kubernetes' admission, Slurm's job_submit."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from prophase.serve.submit import kubernetes_webhook, slurm_job_submit
from prophase.serve.submit.submission_service import open_submission_service


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    desk = open_submission_service(app)
    warm_up = threading.Thread(target=desk.warm_up, name="warm-up", daemon=True)
    warm_up.start()
    yield
    # it may be in the middle of a library that changes settings of the whole process
    await asyncio.to_thread(warm_up.join)
    desk.close()


router = APIRouter(lifespan=_life)
router.include_router(kubernetes_webhook.router)
router.include_router(slurm_job_submit.router)
