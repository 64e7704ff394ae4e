#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: shmem_nvm.py <shmem_nvm> <make_object>

What shmem_nvm says and returns of objects that are whole, in use, damaged, incomplete and not there."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

tool, make_object = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="shmem_nvm.", dir=".")


def run(*arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout + done.stderr


def expect(arguments, code, *patterns, lines=None):
    found, text = run(*arguments)
    if found != code:
        sys.exit(f"{arguments}: exit code {found}, expected {code}\n{text}")
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            sys.exit(f"{arguments}: expected '{pattern}' in\n{text}")
    if lines is not None and text.count("\n") != lines:
        sys.exit(f"{arguments}: expected {lines} lines\n{text}")


def expect_errors_only(*arguments):
    """What has failed, or was wrong, is said on stderr."""
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=30)
    if done.stdout != "" or done.stderr == "":
        sys.exit(f"{arguments}: on stdout\n{done.stdout}on stderr\n{done.stderr}")


def on_disk(*paths):
    """As the tool has it."""
    number = 512.0 * sum(os.stat(path).st_blocks for path in paths)
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024 or unit == "MiB":
            return f"{number:.4g} {unit}"
        number /= 1024


def make(*arguments):
    subprocess.run([make_object, folder, *arguments], check=True, timeout=30)


def part(name, pe):
    return os.path.join(folder, f"{name}.pe{pe}.atoll")


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 16]))


def find(path, block):
    """Offset of the newest copy of a block of equal bytes."""
    with open(path, "rb") as file:
        return file.read().rindex(bytes([block]) * 4096)


def expect_whole_where_nothing_can_be_written(name):
    """In a namespace of its own, where the system permits one."""
    namespace = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && ! touch "$1"/a 2>/dev/null || exit 77; "$2" check "$1" "$3"'
    done = subprocess.run([*namespace, "sh", "-c", script, "sh", os.path.abspath(folder), os.path.abspath(tool), name],
                          capture_output=True, text=True, timeout=30)
    if "whole" in done.stdout or done.returncode == 77 or "unshare" in done.stderr:
        return
    sys.exit(f"check of what can only be read: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    for word in ("--help", "-h"):
        expect([word], 0, "^usage: shmem_nvm list <folder>$")
    for wrong in ([], ["list"], ["list", folder, "x"], ["check"], ["check", folder, "a", "b"], ["remove", folder], ["remove", folder, "a", "b"],
                  ["look", folder], ["list", "--some", folder], ["list", "--all", folder], ["check", ""]):
        expect(wrong, 2, "^usage: shmem_nvm list")
        expect_errors_only(*wrong)
    expect(["list", folder], 0, "^no NVM objects in ", lines=1)
    expect(["check", folder], 0, "^no NVM objects in ", lines=1)
    expect(["list", folder + "/none"], 1, "^shmem_nvm: cannot read the folder .*/none: No such file", lines=1)
    expect(["check", folder, "grid"], 1, "^shmem_nvm: there is no NVM object 'grid' in ", lines=1)
    expect(["remove", folder, "grid"], 1, "^shmem_nvm: there is no NVM object 'grid' in ", lines=1)
    expect_errors_only("list", folder + "/none")
    expect_errors_only("remove", folder, "grid")

    make("grid", "3", "8", "2")
    make("new", "1", "1", "0")
    grid = [part("grid", pe) for pe in range(3)]
    written = os.stat(grid[2]).st_mtime
    days = "|".join(time.strftime("%Y-%m-%d", time.localtime(written - ago)) for ago in (0, 60))  # it may be midnight
    expect(["list", folder], 0, r"^object +bytes of a PE +files +on disk +epoch +persisted$",
           rf"^grid +32 KiB +3 of 3 +{on_disk(*grid)} +2  ({days}) \d\d:\d\d:\d\d$",
           rf"^new +4 KiB +1 of 1 +{on_disk(part('new', 0))} +0  never$", lines=3)
    expect(["check", folder], 0, r"^grid: whole \(files: 3\)$", r"^new: whole \(files: 1\)$", lines=2)
    expect(["check", folder, "new"], 0, "^new: whole", lines=1)

    expect_whole_where_nothing_can_be_written("grid")

    holder = subprocess.Popen([make_object, folder, "used", "2", "1", "1", "hold"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    expect(["list", folder], 0, "^used +4 KiB +2 of 2 ", lines=4)
    expect(["check", folder, "used"], 1, "used.pe0.atoll: a job, or a tool, is using it; wait", "used.pe1", lines=2)
    expect(["remove", folder, "used"], 1, "^shmem_nvm: cannot remove .*used.pe0.atoll: a job, or a tool, is using it", lines=1)
    if not os.path.exists(part("used", 0)) or not os.path.exists(part("used", 1)):
        sys.exit("an object in use was removed")
    holder.communicate("")
    expect(["remove", folder, "used"], 0, "^removed .*used.pe0.atoll$", "^removed .*used.pe1.atoll$", lines=2)

    # PE 1 has bytes 7 of block 5, in epoch 2 alone.
    flip(part("grid", 1), find(part("grid", 1), 7) + 99)
    expect(["check", folder, "grid"], 1, r"grid.pe1.atoll: epoch 2: bytes 20480 to 24575 of the object do not match", lines=1)
    expect(["check", folder], 1, "grid.pe1.atoll: epoch 2: ", r"^new: whole \(files: 1\)$", lines=2)
    flip(part("grid", 1), find(part("grid", 2), 7) + 99)
    expect(["check", folder, "grid"], 0)
    flip(part("grid", 0), 65536 + 24)
    expect(["check", folder, "grid"], 1, "grid.pe0.atoll: header 1 is damaged, or its writing was interrupted", lines=1)
    flip(part("grid", 0), 24)
    expect(["check", folder, "grid"], 1, "grid.pe0.atoll: it is not an NVM object, or both its headers are damaged")
    expect(["list", folder], 1, rf"^grid +\? +3 +{on_disk(*grid)} +\?  see shmem_nvm check$", "^shmem_nvm: .*grid.pe0.atoll: it is not", "^new ")
    flip(part("grid", 0), 65536 + 24)
    flip(part("grid", 0), 24)

    os.unlink(part("grid", 1))
    expect(["check", folder, "grid"], 1, "^the part of PE 1 of 'grid' is missing$", lines=1)
    expect(["check", "--some", folder, "grid"], 0, "^grid: whole", lines=1)
    expect(["remove", folder, "grid"], 0, "^removed .*grid.pe0.atoll$", "^removed .*grid.pe2.atoll$", lines=2)
    expect(["list", folder], 0, "^new ", lines=2)
    if os.listdir(folder) != ["new.pe0.atoll"]:
        sys.exit(f"left behind: {os.listdir(folder)}")


try:
    main()
finally:
    shutil.rmtree(folder)
