#!/usr/bin/env python3
"""A sender of datagrams that breaks the contract of external endpoints in the way named; `clocked`
keeps to it and tells its own CPU time, `helps` keeps to it and has a second process."""
import mmap, os, signal, socket, subprocess, sys, time

way = sys.argv[1]
if way == "exits":
    sys.exit("no such database")
if way == "silent":
    time.sleep(600)
if way == "rubbish":
    print("\x1b[2Jhello", flush=True)
    time.sleep(600)
if way == "endless":
    while True:
        sys.stdout.write("x" * 4096)
page = mmap.mmap(os.open(os.environ["NT_PAGE"], os.O_RDWR), 4096)
count = memoryview(page)[64:96].cast("Q")
size = int(os.environ["NT_SIZE"])
host, port = os.environ["NT_BIND"].rsplit(":", 1)
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((host, int(port)))
print("ready", sock.getsockname()[1], flush=True)
host, port = sys.stdin.readline().split()[1].rsplit(":", 1)
sock.connect((host, int(port)))
print("connected", flush=True)
sys.stdin.readline()
if way == "forks":
    # One in the same session, one that hides in a session of its own.
    for away in (False, True):
        subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=away)
if way == "orphans":
    # It hides in a session of its own, and its parent is gone.
    if os.fork() == 0:
        subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os._exit(0)
    os.wait()
if way == "helps":
    helper = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
messages = 0
while page[0] != 3 or way == "deaf":
    if way == "dies" and messages == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "talks" and messages == 20:
        print("still here", flush=True)
    if way != "idle":
        sock.send(bytes(size // 2 if way == "halves" else size))
    messages += 2 if way == "doubles" else 1
    if way == "backwards":
        count[0], count[1] = 10**9 - messages, (10**9 - messages) * size
        continue
    count[0], count[1] = messages, messages * size
    if way == "clocked":
        count[3] = time.process_time_ns()
    if way == "pads":
        count[1] = messages * size * 3
if way == "helps":
    helper.kill()
print("done", flush=True)
if way == "lingers":
    time.sleep(600)
sys.stdin.readline()
