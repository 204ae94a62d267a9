# tries: links that whoever cleans up might follow
os.symlink(TREE, "tree")
os.symlink("/", "root")
os.symlink("loop", "loop")
os.makedirs("a/b")
os.symlink(TREE / "solutions", "a/b/c")
os.mkfifo("pipe")
