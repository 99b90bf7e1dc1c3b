"""GET /languages: what the loaded models translate."""

from fastapi import APIRouter, Request

from service.api.language_names import language_name
from service.api.openapi import failures
from service.api.schemas import LanguageAnswer
from service.api.services import services_of

router = APIRouter()


@router.get("/languages", responses=failures(500, 503), summary="List languages")
async def languages(request: Request) -> list[LanguageAnswer]:
    """Lists each source language with the languages it can be translated into."""
    targets: dict[str, set[str]] = {}
    for pair in services_of(request).lifecycle.backend().registry.languages():
        targets.setdefault(pair.source, set()).add(pair.target)
    return [
        LanguageAnswer(code=code, name=language_name(code), targets=sorted(listed))
        for code, listed in sorted(targets.items())
    ]
