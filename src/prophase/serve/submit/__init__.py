"""What asks at the moment a job is submitted: Kubernetes' admission, Slurm's job_submit."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from prophase.serve.submit import admission, slurm
from prophase.serve.submit.desk import open_desk


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    desk = open_desk(app)
    threading.Thread(target=desk.warm_up, name="warm-up", daemon=True).start()
    yield
    desk.close()


router = APIRouter(lifespan=_life)
router.include_router(admission.router)
router.include_router(slurm.router)
