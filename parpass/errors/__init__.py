"""Every exception that parpass raises.

::

    ParpassError                  TVM's name for it: TVMError
    ├── PassError                 a pass broke its contract
    │   ├── PassResultError       it returned the wrong kind (also TypeError)
    │   ├── PassInputError        it was given no module of its IR (also TypeError)
    │   ├── UndefinedPassError    a pipeline item is missing (also ValueError)
    │   ├── ReadOnlyModuleError   a function pass wrote to the module it was given
    │   ├── InputChangedError     it changed what it was given, in place
    │   ├── ContractError         a function pass depends on what it must not
    │   ├── WellFormedError       it broke the IR's rules (also AssertionError)
    │   └── UnprintablePassError  it cannot be put in pipeline text (also ValueError)
    ├── UnknownPassError          no pass of that name (also KeyError)
    ├── UnknownFunctionError      no global function of that name (also ValueError)
    ├── PassContextError          a context was left out of order (also RuntimeError)
    ├── ArgumentError             a value of the wrong kind (also TypeError)
    ├── ConfigError               unknown or ill-typed option (also AttributeError)
    │   └── ConfigValueError      ... a value of the wrong type (also TypeError)
    ├── InstrumentError           an instrument is not fit for use (also TypeError)
    ├── DiagnosticError           errors of the user's program were reported
    │   └── ParseError            ... its text cannot be read (also ValueError)
    │       └── UnreadFunctionError   ... which a pass was first to find out
    ├── ModuleError               a module cannot hold what it was given
    │   ├── UnknownGlobalError    no function of that name (also ValueError)
    │   └── ModuleTypeError       a function or key of the wrong kind (also TypeError)
    ├── IRError                   a node is used against its rules
    │   ├── IRTypeError           ... with a value of the wrong kind (also TypeError)
    │   ├── SizeLimitError        ... to make something too large (also ValueError)
    │   ├── ScopeBuilderError     ... built out of order (also RuntimeError)
    │   ├── UntypedError          ... its type has not been inferred (also ValueError)
    │   ├── UnknownAttrError      ... no attribute of that name (also KeyError)
    │   ├── UnknownOpError        ... no operator of that name (also AttributeError)
    │   └── StructuralMismatchError   two nodes differ (also ValueError)
    ├── MalformedJSONError        text that load_json cannot read (also ValueError)
    ├── EvaluationError           the interpreter met a program it cannot evaluate
    │   ├── CallLimitError        it calls more functions than it may
    │   └── StepLimitError        it takes more steps than it may
    ├── TargetError               no target of that name or kind (also ValueError)
    ├── CodeGenError              no machine code can be made of a function
    ├── LibraryError              a compiled library cannot be loaded
    │   ├── DamagedLibraryError   ... changed, or not whole (also ValueError)
    │   └── ForeignLibraryError   ... for another machine, or of another version
    │       └── CPUFeatureError   ... that has what this processor has not
    ├── KernelError               a compiled function found a fault (also RuntimeError)
    ├── FrontendError             an input file cannot be imported
    │   ├── MalformedModelError   ... truncated, or not of its format (also ValueError)
    │   └── UnsupportedOpsError   ... unknown operators (also NotImplementedError)
    ├── PipelineSyntaxError       pipeline text that cannot be read (also ValueError)
    ├── ReproducerError           a reproducer that cannot be used (also ValueError)
    ├── RuntimeUseError           the runner cannot run here or now (also RuntimeError)
    ├── FunctionFailure           what a pass did on one function ended it from outside
    │   ├── WorkerDiedError       ... a worker died, again and again (also RuntimeError)
    │   ├── FunctionTimeoutError  ... it took longer than it may (also TimeoutError)
    │   └── MemoryLimitError      ... it took more memory than it may (also MemoryError)
    ├── WorkerError               an unpicklable error of a worker (also RuntimeError)
    └── InternalError             a fault of parpass itself (also RuntimeError)

Warnings: `UnpicklablePassWarning`, `PassStateWarning`, `SlowerRunWarning`,
`BudgetWarning`, `BlockedLoopWarning`.

Every error keeps its values as attributes and survives pickling, because errors
travel from the workers to the coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.base import (
    ParpassError,
    add_note,
    did_you_mean,
    kind_of,
    nearest,
    quoted,
)
from parpass.errors.compiling import (
    CodeGenError,
    CPUFeatureError,
    DamagedLibraryError,
    ForeignLibraryError,
    KernelError,
    LibraryError,
    TargetError,
)
from parpass.errors.missing_names import refusing
from parpass.errors.passes import (
    ContractError,
    InputChangedError,
    PassError,
    PassInputError,
    PassResultError,
    ReadOnlyModuleError,
    UndefinedPassError,
    UnknownFunctionError,
    UnknownPassError,
    UnprintablePassError,
    WellFormedError,
)
from parpass.errors.program import (
    CallLimitError,
    DiagnosticError,
    EvaluationError,
    IRError,
    IRTypeError,
    ModuleError,
    ModuleTypeError,
    ScopeBuilderError,
    SizeLimitError,
    StepLimitError,
    StructuralMismatchError,
    UnknownAttrError,
    UnknownGlobalError,
    UnknownOpError,
    UntypedError,
)
from parpass.errors.reading import (
    FrontendError,
    MalformedJSONError,
    MalformedModelError,
    ParseError,
    PipelineSyntaxError,
    ReproducerError,
    UnreadFunctionError,
    UnsupportedOpsError,
)
from parpass.errors.running import (
    FunctionFailure,
    FunctionTimeoutError,
    InternalError,
    MemoryLimitError,
    RuntimeUseError,
    WorkerDiedError,
    WorkerError,
    attach_others,
    other_failures,
)
from parpass.errors.settings import (
    ArgumentError,
    ConfigError,
    ConfigValueError,
    InstrumentError,
    PassContextError,
)
from parpass.errors.warning import (
    BlockedLoopWarning,
    BudgetWarning,
    PassStateWarning,
    SlowerRunWarning,
    UnpicklablePassWarning,
)

__all__ = [
    "ArgumentError",
    "BlockedLoopWarning",
    "BudgetWarning",
    "CPUFeatureError",
    "CallLimitError",
    "CodeGenError",
    "ConfigError",
    "ConfigValueError",
    "ContractError",
    "DamagedLibraryError",
    "DiagnosticError",
    "EvaluationError",
    "ForeignLibraryError",
    "FrontendError",
    "FunctionFailure",
    "FunctionTimeoutError",
    "IRError",
    "IRTypeError",
    "InputChangedError",
    "InstrumentError",
    "InternalError",
    "KernelError",
    "LibraryError",
    "MalformedJSONError",
    "MalformedModelError",
    "MemoryLimitError",
    "ModuleError",
    "ModuleTypeError",
    "ParpassError",
    "ParseError",
    "PassContextError",
    "PassError",
    "PassInputError",
    "PassResultError",
    "PassStateWarning",
    "PipelineSyntaxError",
    "ReadOnlyModuleError",
    "ReproducerError",
    "RuntimeUseError",
    "ScopeBuilderError",
    "SizeLimitError",
    "SlowerRunWarning",
    "StepLimitError",
    "StructuralMismatchError",
    "TargetError",
    "UndefinedPassError",
    "UnknownAttrError",
    "UnknownFunctionError",
    "UnknownGlobalError",
    "UnknownOpError",
    "UnknownPassError",
    "UnpicklablePassWarning",
    "UnprintablePassError",
    "UnreadFunctionError",
    "UnsupportedOpsError",
    "UntypedError",
    "WellFormedError",
    "WorkerDiedError",
    "WorkerError",
    "add_note",
    "attach_others",
    "did_you_mean",
    "kind_of",
    "nearest",
    "other_failures",
    "quoted",
]

# Tracebacks and pickles name errors by the path that users import them from.
for _name in __all__:
    globals()[_name].__module__ = __name__

TVMError = ParpassError  # under TVM's name, too

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
