"""The pages of the dashboard."""

from fastapi import APIRouter

router = APIRouter()
