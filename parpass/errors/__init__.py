"""The exceptions and warnings that parpass raises.

::

    ParpassError                  TVM's name for it: TVMError
    ├── PassError                 a pass broke its contract
    │   ├── PassResultError       it returned the wrong kind (also TypeError)
    │   ├── PassInputError        its argument is no module of its IR (also TypeError)
    │   ├── UndefinedPassError    a pipeline item is missing (also ValueError)
    │   ├── ReadOnlyModuleError   a function pass wrote to the module it was given
    │   ├── InputChangedError     it changed its argument in place
    │   ├── ContractError         a function pass depends on what it must not
    │   ├── PreservedAnalysisError   it changed what it says it preserves
    │   ├── WellFormedError       it broke the IR's rules (also AssertionError)
    │   └── UnprintablePassError  it cannot be put in pipeline text (also ValueError)
    ├── UnknownPassError          no pass of that name (also KeyError)
    ├── UnknownFunctionError      no global function of that name (also ValueError)
    ├── PassContextError          a context was exited out of order (also RuntimeError)
    ├── ArgumentError             a value of the wrong kind (also TypeError)
    ├── AdapterError              an IR's adapter returned one (also TypeError)
    ├── LawError                  passes can observe its codec (also AssertionError)
    ├── ConfigError               unknown or ill-typed option (also AttributeError)
    │   └── ConfigValueError      ... a value of the wrong type (also TypeError)
    ├── InstrumentError           an instrument is not fit for use (also TypeError)
    ├── DiagnosticError           errors of the user's program were reported
    │   └── ParseError            ... its text cannot be read (also ValueError)
    │       └── UnreadFunctionError   ... found when a pass accessed the function
    ├── ModuleError               a module cannot hold a value or key
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
    ├── EvaluationError           the interpreter cannot evaluate a program
    │   ├── CallLimitError        it calls more functions than it may
    │   └── StepLimitError        it takes more steps than it may
    ├── TargetError               no target of that name or kind (also ValueError)
    ├── CodeGenError              no machine code can be generated for a function
    ├── LibraryError              a compiled library cannot be loaded
    │   ├── DamagedLibraryError   ... changed, or truncated (also ValueError)
    │   └── ForeignLibraryError   ... for another machine, or of another version
    │       └── CPUFeatureError   ... with features that this processor lacks
    ├── KernelError               a compiled function found a fault (also RuntimeError)
    ├── FrontendError             an input file cannot be imported
    │   ├── MalformedModelError   ... truncated, or not of its format (also ValueError)
    │   └── UnsupportedOpsError   ... unknown operators (also NotImplementedError)
    ├── PipelineSyntaxError       pipeline text that cannot be read (also ValueError)
    ├── ReproducerError           a reproducer that cannot be used (also ValueError)
    ├── RuntimeUseError           the runner cannot run here or now (also RuntimeError)
    ├── EntryPointError           no IR, or executor, of that name (also LookupError)
    ├── FunctionFailure           a pass on one function was ended from outside
    │   ├── WorkerDiedError       ... workers died repeatedly (also RuntimeError)
    │   ├── FunctionTimeoutError  ... it took longer than it may (also TimeoutError)
    │   └── MemoryLimitError      ... it took more memory than it may (also MemoryError)
    ├── WorkerError               an unpicklable error of a worker (also RuntimeError)
    └── InternalError             a fault of parpass itself (also RuntimeError)

Warnings: `UnpicklablePassWarning`, `PassStateWarning`, `SlowerRunWarning`,
`BudgetWarning`, `BlockedLoopWarning`, `AdapterWarning`, `TraceWarning`,
`ProgressWarning`, `CacheMismatchWarning`, `PassNameWarning`.

Every error keeps its values as attributes and survives pickling, because workers send
errors to the coordinator. Errors and warnings have `hints`: keys of the phrases in
their messages that name a setting, which each front end spells its way
(`render_hints`). Helpers for error messages are in `errors.core`.
"""

from __future__ import annotations

from parpass.errors import core, failures, ir, warning
from parpass.errors.adapters import AdapterError, LawError
from parpass.errors.core import *
from parpass.errors.failures import *
from parpass.errors.hints import Hint, HintedMessage, render_hints
from parpass.errors.ir import *
from parpass.errors.warning import *

__all__ = [
    "AdapterError",
    "Hint",
    "HintedMessage",
    "LawError",
    "render_hints",
]
__all__ += core.__all__
__all__ += failures.__all__
__all__ += ir.__all__
__all__ += warning.__all__


def _publish() -> None:
    # Tracebacks and pickles name errors by the path that users import them from.
    for name in __all__:
        globals()[name].__module__ = __name__


_publish()

TVMError = core.ParpassError  # under TVM's name, too
