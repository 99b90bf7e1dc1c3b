"""Starting the decode loops of a model: on threads of this process, or each in a process of its own."""

from dataclasses import dataclass, replace

from service.engine.options import EngineOptions
from service.engine.threads import decode_threads, threads_of_run, usable_cpus
from service.package.package import ModelPackage
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool
from service.scheduler.process import DecodeProcess
from service.scheduler.stats import StatsSink
from service.scheduler.wire import Setup
from service.scheduler.worker import DecodeWorker
from service.search.rules import DecodingRules

# Copies of a model's weights may take so many bytes before threads share one instead.
_MOST_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Decoders:
    """Workers that have started, and what their engines really use; num_threads is that of one graph run."""

    workers: tuple[DecodeWorker, ...]
    precision: str
    provider: str
    num_threads: int


def start_decoders(
    package: ModelPackage, options: EngineOptions, limits: SchedulerOptions, rules: DecodingRules, sink: StatsSink
) -> Decoders:
    """Starts as many decode loops as the options or the CPUs say, which share the limits; raises EngineError."""
    cpus = usable_cpus()
    num_threads = threads_of_run(options.num_threads, package.manifest.dimensions.model_width, cpus)
    count = decode_threads(options.num_decode_threads, num_threads, cpus)
    setup = Setup(
        package=package.folder.absolute(),
        engine=replace(options, num_threads=num_threads),
        limits=limits.divided(count),
        rules=rules,
    )
    in_processes = options.in_processes
    if in_processes is None:
        in_processes = count == 1 or count * _weight_bytes(package) <= _MOST_BYTES
    return _start_processes(setup, sink, count) if in_processes else _start_threads(package, setup, sink, count)


def _start_processes(setup: Setup, sink: StatsSink, count: int) -> Decoders:
    processes: list[DecodeProcess] = []
    try:
        # All of them at once: most of their start is loading libraries.
        processes.extend(DecodeProcess(setup, sink, f"{setup.package.name}-{index}") for index in range(count))
        started, *_ = [process.wait_until_started() for process in processes]
    except BaseException:
        DecodePool(processes).close(0.0)
        raise
    return Decoders(tuple(processes), started.precision, started.provider, started.num_threads)


def _start_threads(package: ModelPackage, setup: Setup, sink: StatsSink, count: int) -> Decoders:
    # Only here is ONNX Runtime loaded into this process.
    from service.engine.engine import Engine
    from service.scheduler.loop import DecodeLoop
    from service.scheduler.thread import DecodeThread

    engine = Engine(package, setup.engine, setup.limits.max_rows)
    engines = [engine, *(engine.twin() for _ in range(1, count))]
    workers = tuple(
        DecodeThread(DecodeLoop(one, setup.rules, setup.limits, sink), f"{package.folder.name}-{index}")
        for index, one in enumerate(engines)
    )
    return Decoders(workers, engine.precision, engine.provider, engine.num_threads)


def _weight_bytes(package: ModelPackage) -> int:
    return sum(record.size_bytes for record in package.manifest.files.values())
