# tries: to replace built-in functions for everyone in its process
builtins.isinstance = builtins.all = builtins.any = lambda *_: True
builtins.len = lambda *_: 1
builtins.type = lambda value: str
