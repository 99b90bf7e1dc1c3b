"""Opening a package's graphs in ONNX Runtime, on the provider that was asked for or not at all."""

import os
from pathlib import Path

import onnxruntime as ort

from service.engine.options import EngineOptions
from service.errors import EngineError

_PROVIDERS = {"auto": "CPUExecutionProvider", "cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def open_session(graph: Path, options: EngineOptions, num_threads: int) -> ort.InferenceSession:
    """Opens one graph, to run with `num_threads` threads.

    Raises EngineError if ONNX Runtime cannot load it, or would quietly run it on another provider.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    provider = _PROVIDERS[options.provider]
    try:
        if options.provider == "cuda":
            ort.preload_dlls()
        session = ort.InferenceSession(graph, _session_options(options, num_threads), providers=[provider])
    except Exception as error:
        # ONNX Runtime raises a dozen unrelated classes here, none documented.
        raise EngineError(f"{graph.name} cannot be loaded: {error}") from error
    used = session.get_providers()
    if used[0] != provider:
        raise EngineError(f"{provider} is not available; ONNX Runtime would use {used[0]} instead")
    return session


def _session_options(options: EngineOptions, num_threads: int) -> ort.SessionOptions:
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = num_threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    settings.log_severity_level = 3
    # Shapes change from step to step, so memory patterns would be planned for shapes that never come again.
    settings.enable_mem_pattern = False
    spinning = options.spin_microseconds > 0 and num_threads > 1
    settings.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    if spinning:
        settings.add_session_config_entry("session.intra_op.spin_duration_us", str(options.spin_microseconds))
    return settings
