"""One module per group of routes; each offers a `router`."""

from fastapi import APIRouter

from service.api.routes import health, languages, metrics, reference, translate

ROUTERS: tuple[APIRouter, ...] = (translate.router, languages.router, health.router, metrics.router, reference.router)
