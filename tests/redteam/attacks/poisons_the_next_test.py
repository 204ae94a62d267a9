# tries: to change state that a later test would inherit from the same process
import questions.attention_exploration.probe as probe

np.exp = lambda x: np.zeros(len(x))
sys.modules["submission.attention_exploration"] = probe
sys.path_hooks.clear()
sys.path.clear()
os.environ["PYTHONPATH"] = os.environ["LD_PRELOAD"] = "/tmp/PWNED"
os.environ["TMPDIR"] = os.environ["HOME"] = "/tmp/PWNED"
os.chdir("/")
os.umask(0o777)
