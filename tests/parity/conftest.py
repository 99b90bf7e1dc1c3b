"""What parity tests share. torch and transformers are imported when a test asks, never when tests are collected."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.golden.hf import golden_cases

if TYPE_CHECKING:
    from tests.parity.oracle import Oracle

ROOT = Path(__file__).parents[2]
REAL_CHECKPOINT = ROOT / "checkpoints" / "en-de"
REAL_PACKAGE = ROOT / "models" / "en-de"


@pytest.fixture(scope="session")
def oracle_of() -> "Callable[[str], Oracle]":
    """Opens the reference for the name of a checkpoint."""
    from tests.parity.oracle import load_oracle

    def opened(name: str) -> "Oracle":
        if name == golden_cases.REAL_NAME:
            return load_oracle(REAL_CHECKPOINT, half_weights=True)
        return load_oracle(golden_cases.checkpoint_folder(name))

    return opened


@pytest.fixture(scope="session")
def real_checkpoint() -> Path:
    return REAL_CHECKPOINT


@pytest.fixture(scope="session")
def real_package() -> Path:
    return REAL_PACKAGE
