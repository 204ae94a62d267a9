# tries: trace functions, profilers, audit hooks, excepthooks and exit handlers
import atexit


def hook(*_):
    sys._getframe().f_back.f_trace_lines = True
    raise SystemExit(0)


atexit.register(os.write, 4, b"PWNED")
sys.excepthook = sys.unraisablehook = threading.excepthook = hook
threading.settrace(hook)
sys.setprofile(lambda *_: None)
sys.settrace(hook)
sys.addaudithook(lambda event, _: 1 / 0 if event.startswith("os.") else None)
