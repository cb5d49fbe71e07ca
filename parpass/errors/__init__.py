"""The exceptions and warnings that parpass raises.

::

    ParpassError                  TVM's name for it: TVMError
    ├── PassError                 a pass broke its contract
    │   ├── PassResultError       it returned a wrong type (also TypeError)
    │   ├── PassInputError        its argument is no module of its IR (also TypeError)
    │   ├── UndefinedPassError    a pipeline item is missing (also ValueError)
    │   ├── ReadOnlyModuleError   a function pass wrote to its module
    │   ├── InputChangedError     it changed its argument in place
    │   ├── ContractError         a function pass broke its contract
    │   ├── PreservedAnalysisError   it changed an analysis it declares preserved
    │   ├── WellFormedError       it broke the IR's rules (also AssertionError)
    │   └── UnprintablePassError  it has no pipeline text (also ValueError)
    ├── UnknownPassError          no pass of that name (also KeyError)
    ├── UnknownFunctionError      no global function of that name (also ValueError)
    ├── PassContextError          a context was exited out of order (also RuntimeError)
    ├── ArgumentError             an argument has a wrong type (also TypeError)
    ├── AdapterError              an IR's adapter returned one (also TypeError)
    ├── LawError                  an adapter broke the law (also AssertionError)
    ├── ConfigError               unknown or ill-typed option (also AttributeError)
    │   └── ConfigValueError      ... a value of the wrong type (also TypeError)
    ├── InstrumentError           an instrument is not usable (also TypeError)
    ├── DiagnosticError           a pass reported errors in the program
    │   └── ParseError            ... its text cannot be read (also ValueError)
    │       └── UnreadFunctionError   ... found when a pass accessed the function
    ├── ModuleError               a module cannot hold a value or key
    │   ├── UnknownGlobalError    no function of that name (also ValueError)
    │   └── ModuleTypeError       a function or key of a wrong type (also TypeError)
    ├── IRError                   a node is used incorrectly
    │   ├── IRTypeError           ... with a value of a wrong type (also TypeError)
    │   ├── SizeLimitError        ... to make something too large (also ValueError)
    │   ├── ScopeBuilderError     ... built out of order (also RuntimeError)
    │   ├── UntypedError          ... its type has not been inferred (also ValueError)
    │   ├── UnknownAttrError      ... no attribute of that name (also KeyError)
    │   ├── UnknownOpError        ... no operator of that name (also AttributeError)
    │   └── StructuralMismatchError   two nodes differ (also ValueError)
    ├── MalformedJSONError        text that load_json cannot read (also ValueError)
    ├── EvaluationError           the interpreter cannot evaluate a program
    │   ├── CallLimitError        it exceeds the limit on calls
    │   └── StepLimitError        it exceeds the limit on steps
    ├── TargetError               no target of that name or kind (also ValueError)
    ├── CodeGenError              a function cannot be compiled to machine code
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
    │   ├── FunctionTimeoutError  ... it exceeded a time limit (also TimeoutError)
    │   └── MemoryLimitError      ... it exceeded a memory limit (also MemoryError)
    ├── WorkerError               an unpicklable error of a worker (also RuntimeError)
    └── InternalError             a bug in parpass (also RuntimeError)

Warnings: `UnpicklablePassWarning`, `PassStateWarning`, `SlowerRunWarning`,
`BudgetWarning`, `BlockedLoopWarning`, `AdapterWarning`, `TraceWarning`,
`ProgressWarning`, `CacheMismatchWarning`, `PassNameWarning`.

Every error keeps its values as attributes and survives pickling, because workers send
errors to the coordinator. Errors and warnings have `hints`: keys of the phrases in
their messages that name a setting. Each front end renders them in its own words
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
