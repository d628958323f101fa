"""Code whose doings cannot be read: it asks for a human look."""

from .rulebook import holders

ANY_OBJECT = "object"
# Through these, anything that an object was made from can be had.
INSIDES = {
    "__builtins__",
    "__closure__",
    "__code__",
    "__globals__",
    "__subclasses__",
    "__wrapped__",
    "f_back",
    "f_globals",
    "f_locals",
}
DYNAMIC = {
    "builtins.exec": "runs text as code",
    "builtins.eval": "runs text as code",
    "builtins.compile": "turns text into code",
    "builtins.__import__": "imports by a name that is computed",
    "importlib.import_module": "imports by a name that is computed",
    "importlib.__import__": "imports by a name that is computed",
    "importlib.util": "loads code in its own way",
    "importlib.machinery": "loads code in its own way",
    "runpy": "runs a file as code",
    "marshal": "turns bytes into code",
    "pickle.loads": "turns bytes into objects of any kind",
    "types.CodeType": "puts code together",
    "types.FunctionType": "puts code together",
    "ctypes": "reaches into memory or libraries",
    "cffi": "reaches into memory or libraries",
    "sys._getframe": "looks into the code that called it",
    "sys._current_frames": "looks into the code that called it",
    "inspect.currentframe": "looks into the code that called it",
    "inspect.stack": "looks into the code that called it",
    "inspect.getouterframes": "looks into the code that called it",
    "gc.get_objects": "searches the memory of the process",
    "gc.get_referrers": "searches the memory of the process",
    "gc.get_referents": "searches the memory of the process",
    "sys.settrace": "changes how code runs",
    "sys.setprofile": "changes how code runs",
    "sys.meta_path": "changes what imports find",
    "torch.utils.cpp_extension": "builds and loads code in another language",
    "torch.ops.load_library": "loads code in another language",
    "torch.jit.CompilationUnit": "runs text as code",
    "torch.library": "registers operators of its own",
}


def reason(name: str) -> str:
    """What is the matter with a name's use; empty where nothing is."""
    if name.rpartition(".")[2] in INSIDES:
        return "reaches for what is inside an object"
    return next((DYNAMIC[held] for held in holders(name) if held in DYNAMIC), "")
