"""MPS: one of two clients is killed in the middle of its loop; the other one and a newcomer go on as without the shim.

It starts a control daemon of its own, in a folder of its own, and changes no setting of the device. Killing a client may all
the same disturb whatever else uses the daemon's server, so it runs only when GPU_SUITE_MPS=yes says that it may.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import common

if os.environ.get("GPU_SUITE_MPS") != "yes":
    common.skip("kills a client of MPS; GPU_SUITE_MPS=yes runs it")
if not shutil.which("nvidia-cuda-mps-control"):
    common.skip("no nvidia-cuda-mps-control")
program = [sys.argv[1], "many"]


def control(env, *arguments, text=""):
    return subprocess.run(["nvidia-cuda-mps-control", *arguments], env=env, input=text, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=30)


def end(name, process):
    try:
        out, _ = process.communicate(timeout=60)
        print(name, process.returncode, "".join(line for line in out.splitlines() if line.startswith("state")))
    except subprocess.TimeoutExpired:
        process.kill()
        print(name, "hangs")


with tempfile.TemporaryDirectory(prefix="mps-") as folder:
    clients = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=folder, CUDA_MPS_LOG_DIRECTORY=folder)
    daemon = {k: v for k, v in clients.items() if k not in ("LD_PRELOAD", "AUTOGRAPH_STATS", "AUTOGRAPH_MODE")}
    started = control(daemon, "-d")
    if started.returncode:
        common.skip(f"MPS does not start: {started.stdout.strip()[:100]}")
    try:
        start = lambda: subprocess.Popen(program, env=clients, stdout=subprocess.PIPE, text=True)
        survivor, victim = start(), start()
        while (line := victim.stdout.readline()) and "round 3" not in line:
            pass
        victim.kill()
        victim.communicate()
        newcomer = start()
        end("survivor", survivor)
        end("newcomer", newcomer)
        end("later", start())
    finally:
        control(daemon, text="quit -t 5\n")
