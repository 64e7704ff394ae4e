#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: container_test.py <build tree> <hello>

Runs the command that docs/running.md gives to Docker in a container of runc, which is what Docker starts: processes, a
network, /dev/shm (64 MiB, as Docker's), /tmp and a host name of its own.  Programs and libraries are this machine's.
77 (skipped) where no container can be started."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, hello = map(pathlib.Path, sys.argv[1:])
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "running.md"
LIMIT = 60


def configuration(words, job):
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"}]
    mounts += [{"destination": at, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", *more]}
               for at, more in (("/dev", ["mode=755"]), ("/dev/shm", ["size=64m"]), ("/tmp", []))]
    system = [at for at in ("/usr", "/lib", "/lib64", "/bin", "/etc", "/sys") if pathlib.Path(at).exists()]
    mounts += [{"destination": str(at), "type": "bind", "source": str(at), "options": ["rbind", "ro"]}
               for at in (*system, build, job)]
    return {"ociVersion": "1.0.2", "hostname": "container", "root": {"path": "rootfs"}, "mounts": mounts,
            "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": words, "cwd": str(job),
                        "env": [f"PATH={build}/bin:/usr/bin:/bin"]},
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "uts", "network")]}}


def contain(words, folder):
    """What the words say and return inside, with ./hello."""
    job = folder / "job"
    (folder / "rootfs").mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(configuration(words, job)))
    try:
        return subprocess.run(["runc", "run", "--bundle", folder, folder.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    finally:
        subprocess.run(["runc", "delete", "--force", folder.name], stderr=subprocess.DEVNULL, check=False)


def main(folder):
    (folder / "job").mkdir()
    shutil.copy(hello, folder / "job" / "hello")
    if shutil.which("runc") is None or contain(["true"], folder).returncode != 0:
        print("no container can be started here")
        return 77
    found = re.search(r"^docker run .* image (oshrun .*)$", PAGE.read_text(), re.MULTILINE)
    if not found:
        sys.exit(f"{PAGE.name} has no command for Docker")
    for more in ([], ["--virtual-nodes", "2"]):
        words = found[1].split()
        words[1:1] = more
        done = contain(words, folder)
        pes = sorted(re.findall(r"^hello from PE (\d) of 4, ", done.stdout, re.MULTILINE))
        if done.returncode != 0 or pes != list("0123"):
            sys.exit(f"{' '.join(words)} ended with code {done.returncode}, PEs {pes} of 4 said hello:\n{done.stdout}")
        print(f"in a container: {' '.join(words)}")
    return 0


with tempfile.TemporaryDirectory(prefix="atoll-container.", dir="/tmp") as place:
    sys.exit(main(pathlib.Path(place)))
