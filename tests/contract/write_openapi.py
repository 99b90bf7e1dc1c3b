"""Writes docs/openapi.json anew: python -m tests.contract.write_openapi"""

import io
import json

from service.app import create_app
from service.observability.logs import create_logger
from service.settings import Settings
from tests.contract.test_reference import SNAPSHOT


def main() -> None:
    app = create_app(Settings(), create_logger(io.StringIO(), "info", "json"))
    SNAPSHOT.write_text(json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
