"""The service provider interface: everything an integration imports from parpass.

An integration adds an IR, an executor, or both. It imports this module and the public
packages `parpass`, `parpass.transform`, `parpass.instrument`, `parpass.errors` and
`parpass.diagnostic`; nothing else in parpass is stable for it. Each name is defined in
a module of the core, and loads from there on first use.

IR
    The handling of modules of a type: `ModuleAdapter` and `register_adapter`, with the
    protocols of codecs and of values that travel apart from a function's bytes; and
    `IR`, the record of an entry point.

Program format
    The parser, printer and reduction patterns of an IR, for the command line.

Executor
    `Executor` is the protocol of a pool of workers. Its futures fail with
    `JobLostError`, `JobCancelledError` or `NoWorkersError`. `usable_cores` returns how
    many processes can run at once.

Worker
    The functions that the processes of an executor call: `begin_worker` once, then
    `run_job` for each job; or `serve`, which does both over a connection.
    `worker_command` starts such a process, in a frozen program, too.

Shared directory
    The data that a run shares with its workers, for an executor whose workers have
    another file system: the messages and file names of jobs, the table of encoded
    functions, the status board on which a worker records what it runs, and large values
    by digest.

Tables
    `ReplicatedTable` is a registry whose entries follow a program to its workers.
    `dumps` pickles code by value and `warn` issues warnings, as in passes.
    `did_you_mean` suggests the names nearest to an unknown one, `check_version` warns
    of an untested version of another package, `atomic_write` replaces a file in one
    step, and `attach_lazy` defers the imports of a package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy, defining_modules

if TYPE_CHECKING:
    from parpass.atomic_files import atomic_write
    from parpass.entry_points import IR
    from parpass.errors.core import did_you_mean
    from parpass.errors.tested_versions import check_version
    from parpass.errors.warning import warn
    from parpass.replicated_tables import ReplicatedTable, importable
    from parpass.runner import (
        Executor,
        JobCancelledError,
        JobLostError,
        NoWorkersError,
        begin_worker,
    )
    from parpass.runner.cores import usable_cores
    from parpass.runner.executor import DEFAULT_START_SECONDS, exit_cause
    from parpass.runner.follow.environment import worker_env
    from parpass.runner.ipc.batch import EncodedFunction, EncodedFunctions
    from parpass.runner.ipc.blobs import (
        WorkerBlobStore,
        blob_file_name,
    )
    from parpass.runner.ipc.function_file import (
        BatchFile,
        FunctionIndex,
        IndexEntry,
        function_file_name,
        index_file_name,
        spec_file_name,
    )
    from parpass.runner.ipc.messages import Job
    from parpass.runner.ipc.shared_dir import (
        FAULT_PREFIX,
        Extent,
        FileWriter,
        SharedDirectory,
        StorageError,
    )
    from parpass.runner.ipc.status_board import (
        Phase,
        Status,
        StatusBoard,
        StatusSlot,
    )
    from parpass.runner.worker.frozen import worker_command
    from parpass.runner.worker.jobs import run_job
    from parpass.runner.worker.main import decode_result, encode_call, serve
    from parpass.transform import (
        BatchCodec,
        BlobSink,
        LargeValue,
        ModuleAdapter,
        Mutability,
        ProgramFormat,
        ProgramSlice,
        ReductionPattern,
        Source,
        StoreCodec,
        register_adapter,
        register_programs,
        register_wrapping,
    )
    from parpass.transform.budget import skip_reasons
    from parpass.transform.code_pickler import dumps
    from parpass.transform.program_format import first_difference

__all__ = [
    "DEFAULT_START_SECONDS",
    "FAULT_PREFIX",
    "IR",
    "BatchCodec",
    "BatchFile",
    "BlobSink",
    "EncodedFunction",
    "EncodedFunctions",
    "Executor",
    "Extent",
    "FileWriter",
    "FunctionIndex",
    "IndexEntry",
    "Job",
    "JobCancelledError",
    "JobLostError",
    "LargeValue",
    "ModuleAdapter",
    "Mutability",
    "NoWorkersError",
    "Phase",
    "ProgramFormat",
    "ProgramSlice",
    "ReductionPattern",
    "ReplicatedTable",
    "SharedDirectory",
    "Source",
    "Status",
    "StatusBoard",
    "StatusSlot",
    "StorageError",
    "StoreCodec",
    "WorkerBlobStore",
    "atomic_write",
    "attach_lazy",
    "begin_worker",
    "blob_file_name",
    "check_version",
    "decode_result",
    "did_you_mean",
    "dumps",
    "encode_call",
    "exit_cause",
    "first_difference",
    "function_file_name",
    "importable",
    "index_file_name",
    "register_adapter",
    "register_programs",
    "register_wrapping",
    "run_job",
    "serve",
    "skip_reasons",
    "spec_file_name",
    "usable_cores",
    "warn",
    "worker_command",
    "worker_env",
]

_SECTIONS = {
    # IR
    "entry_points": "IR",
    "transform": "BatchCodec BlobSink LargeValue ModuleAdapter Mutability "
    "StoreCodec ProgramSlice Source register_adapter register_wrapping",
    # Program format
    "transform.program_format": "ProgramFormat ReductionPattern first_difference "
    "register_programs",
    # Executor
    "runner.cores": "usable_cores",
    "runner.executor": "DEFAULT_START_SECONDS Executor JobCancelledError JobLostError "
    "NoWorkersError exit_cause",
    "runner.follow.environment": "worker_env",
    # Worker
    "runner.worker.frozen": "worker_command",
    "runner.worker.jobs": "begin_worker run_job",
    "runner.worker.main": "decode_result encode_call serve",
    # Shared directory
    "runner.ipc.batch": "EncodedFunction EncodedFunctions",
    "runner.ipc.blobs": "WorkerBlobStore blob_file_name",
    "runner.ipc.function_file": "BatchFile FunctionIndex IndexEntry "
    "function_file_name index_file_name spec_file_name",
    "runner.ipc.messages": "Job",
    "runner.ipc.shared_dir": "FAULT_PREFIX Extent FileWriter SharedDirectory "
    "StorageError",
    "runner.ipc.status_board": "Status Phase StatusBoard StatusSlot",
    # Tables
    "atomic_files": "atomic_write",
    "errors.core": "did_you_mean",
    "errors.tested_versions": "check_version",
    "errors.warning": "warn",
    "replicated_tables": "ReplicatedTable importable",
    "transform.budget": "skip_reasons",
    "transform.code_pickler": "dumps",
}

__getattr__, __dir__ = attach_lazy(__name__, defining_modules(_SECTIONS))
