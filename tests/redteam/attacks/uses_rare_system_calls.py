# tries: io_uring, bpf, perf events, userfaultfd, keyrings and modules of the kernel
opened = []
for number in (425, 321, 298, 323, 248, 250, 175, 313, 300, 304, 428, 430, 442, 447, 319):
    result = libc.syscall(number, 8, ctypes.create_string_buffer(256), 0, 0, 0)
    if result > 0:
        opened.append(number)
if opened:
    breach(opened)
