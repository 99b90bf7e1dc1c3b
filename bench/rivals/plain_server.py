"""A plain FastAPI server around CTranslate2, as such servers are built: one `translate_batch` call per request.

The function of the route is an ordinary one, so the framework runs it in its pool of threads. A request may hold
several texts, which go into one call. Run as a program: `python -m bench.rivals.plain_server --help`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

_MAX_NEW_TOKENS = 256


class Body(BaseModel):
    """A request: texts, and how wide the beam is."""

    texts: list[str]
    beam_size: int | None = None


class Answer(BaseModel):
    """Translations in the order of the texts."""

    translations: list[str]


@dataclass(frozen=True, slots=True)
class PlainOptions:
    """How the server runs CTranslate2; beam_size is for requests that name none."""

    model: Path
    checkpoint: Path
    compute_type: str
    inter_threads: int
    intra_threads: int
    beam_size: int


class PlainTranslator:
    """SentencePiece on both sides of CTranslate2."""

    def __init__(self, options: PlainOptions) -> None:
        import ctranslate2
        from sentencepiece import SentencePieceProcessor

        self._source = SentencePieceProcessor(model_file=str(options.checkpoint / "source.spm"))
        self._target = SentencePieceProcessor(model_file=str(options.checkpoint / "target.spm"))
        self._beam_size = options.beam_size
        self._translator: Any = ctranslate2.Translator(
            str(options.model),
            device="cpu",
            compute_type=options.compute_type,
            inter_threads=options.inter_threads,
            intra_threads=options.intra_threads,
        )

    def translate(self, body: Body) -> list[str]:
        """Translates the texts of one request."""
        pieces = [[*self._source.encode(text, out_type=str), "</s>"] for text in body.texts]
        results = self._translator.translate_batch(
            pieces, beam_size=body.beam_size or self._beam_size, max_decoding_length=_MAX_NEW_TOKENS
        )
        return [self._target.decode(result.hypotheses[0]) for result in results]


def create_app(translator: PlainTranslator) -> FastAPI:
    """Makes the app with its two routes."""
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/translate")
    def translate(body: Body) -> Answer:
        return Answer(translations=translator.translate(body))

    return app


@click.command()
@click.option("--model", type=click.Path(path_type=Path), required=True)
@click.option("--checkpoint", type=click.Path(path_type=Path), required=True)
@click.option("--compute-type", required=True)
@click.option("--inter-threads", type=int, required=True)
@click.option("--intra-threads", type=int, required=True)
@click.option("--beam-size", type=int, required=True)
@click.option("--port", type=int, required=True)
def main(port: int, **options: Any) -> None:
    """Serve until a signal ends it."""
    uvicorn.run(create_app(PlainTranslator(PlainOptions(**options))), host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
